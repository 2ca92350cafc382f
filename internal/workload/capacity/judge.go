package capacity

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/workload/parse"
)

// Term is one bound of an objective with what it is compared with.
type Term struct {
	Text    string  `json:"text"` // as written
	Metric  string  `json:"metric"`
	AtLeast bool    `json:"at_least,omitempty"`
	Limit   float64 `json:"limit"` // in the metric's unit
	// Delay is the metric that says how late the driver sent requests, in the same unit; ""
	// where there is none.
	Delay string `json:"delay,omitempty"`
}

// CPU is the bound on the CPU time that an environment uses while requests are sent, in
// percent of one core.
const CPU = "cpu"

// Criteria say when a probe holds.
type Criteria struct {
	Terms []Term `json:"terms"`
	// Sent is the metric with the rate that the driver reached, Growth that with the
	// seconds by which a request took longer with each second, and Answered that with the
	// rate of answers. Growth and Answered may be "".
	Sent     string `json:"sent"`
	Growth   string `json:"growth,omitempty"`
	Answered string `json:"answered,omitempty"`
}

const (
	// leastSent is which share of the rate the driver has to send.
	leastSent = .98
	// mostDelay is which share of a bound on the latency the driver's own delay may be,
	// where the bound is exceeded: a driver that lacks CPU time sends late, and sees
	// answers late.
	mostDelay = .2
	// mostGrowth is by which share requests may exceed answers. A server that falls
	// behind by a little more would hold every objective in a probe, and none if the rate
	// stayed.
	mostGrowth = .01
	// mostFailures is which share of the requests may fail where the objective has no bound
	// on it: refusals are quick, and hold every bound on the latency.
	mostFailures = .01
)

// Judge says what a probe at a rate shows, of which a request took so many seconds of CPU
// time; 0 where that is unknown. It is of the server only where the driver did its part. An
// error says which value is missing.
func (c Criteria) Judge(rate float64, values map[string]float64, cpu float64) (Probe, error) {
	p := Probe{Rate: rate, Outcome: Held, Answered: values[c.Answered], CPU: cpu}
	if values = maps.Clone(values); cpu > 0 {
		values[CPU] = 100 * cpu * values[c.Sent]
	}
	bounded := slices.ContainsFunc(c.Terms, func(t Term) bool { return t.Metric == parse.ErrorRatio })
	if share := values[parse.ErrorRatio]; share == 1 || share > mostFailures && !bounded {
		p.Outcome, p.Why = Failed, fmt.Sprintf("%.1f%% of the requests failed at %.0f/s", 100*share, rate)
		return p, nil
	}
	metrics := []string{c.Sent}
	for _, t := range c.Terms {
		metrics = append(metrics, t.Metric)
		if t.Delay != "" {
			metrics = append(metrics, t.Delay)
		}
	}
	for _, m := range metrics {
		if v, there := values[m]; !there || math.IsNaN(v) {
			return p, fmt.Errorf("the probe at %.0f/s has no %s", rate, m)
		}
	}
	if sent := values[c.Sent]; !Kept(sent, rate) {
		p.Outcome, p.Why = Late, fmt.Sprintf("it sent %.0f/s instead of %.0f/s", sent, rate)
		return p, nil
	}
	for _, t := range c.Terms {
		switch v := values[t.Metric]; {
		case t.AtLeast && v >= t.Limit, !t.AtLeast && v <= t.Limit:
		case t.Delay != "" && values[t.Delay] > mostDelay*t.Limit:
			p.Outcome, p.Why = Late, fmt.Sprintf("at %.0f/s it sent requests late by more than a fifth of %s", rate, t.Text)
			return p, nil
		default:
			p.Outcome, p.Why = Failed, fmt.Sprintf("%s: it was %s at %.0f/s", t.Text, brief(v/t.Limit), rate)
			return p, nil
		}
	}
	if growth, known := values[c.Growth]; known && growth > mostGrowth {
		p.Outcome, p.Why = Failed, fmt.Sprintf("answers came later and later at %.0f/s: requests exceeded them by %.1f%%", rate, 100*growth)
	}
	return p, nil
}

// Kept says whether a driver that sent so much kept its rate.
func Kept(sent, rate float64) bool { return sent >= leastSent*rate }

func brief(ratio float64) string {
	if math.IsInf(ratio, 0) || math.IsNaN(ratio) {
		return "exceeded"
	}
	return fmt.Sprintf("%.3g times that", ratio)
}

// Objective is how the criteria are written.
func (c Criteria) Objective() []string {
	return lists.Map(c.Terms, func(t Term) string { return t.Text })
}
