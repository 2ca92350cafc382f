package capacity

import (
	"fmt"
	"math"

	"tare/internal/lists"
)

// Term is one bound of an objective with what it is compared with.
type Term struct {
	Text    string  `json:"text"` // as written
	Metric  string  `json:"metric"`
	AtLeast bool    `json:"at_least,omitempty"`
	Limit   float64 `json:"limit"` // in the metric's unit
	// Service is the same metric counted from when requests were sent, not from when they
	// were due; "" where there is none.
	Service string `json:"service,omitempty"`
}

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
	// mostGrowth is by which share requests may exceed answers. A server that falls
	// behind by a little more would hold every objective in a probe, and none if the rate
	// stayed.
	mostGrowth = .01
)

// Judge says what a probe at a rate shows. The server is judged by what was sent: what is
// due but not sent is the driver's. An error says which value is missing.
func (c Criteria) Judge(rate float64, values map[string]float64) (Probe, error) {
	p := Probe{Rate: rate, Outcome: Held, Answered: values[c.Answered]}
	metrics := []string{c.Sent}
	for _, t := range c.Terms {
		metrics = append(metrics, t.Metric)
		if t.Service != "" {
			metrics = append(metrics, t.Service)
		}
	}
	for _, m := range metrics {
		if v, there := values[m]; !there || math.IsNaN(v) {
			return p, fmt.Errorf("the probe at %.0f/s has no %s", rate, m)
		}
	}
	late := ""
	for _, t := range c.Terms {
		exceeds := func(metric string) bool {
			if t.AtLeast {
				return values[metric] < t.Limit
			}
			return values[metric] > t.Limit
		}
		switch {
		case !exceeds(t.Metric):
		case t.Service == "" || exceeds(t.Service):
			p.Outcome, p.Why = Failed, fmt.Sprintf("%s: it was %s at %.0f/s", t.Text, brief(values[t.Metric]/t.Limit), rate)
			return p, nil
		default:
			late = fmt.Sprintf("%s at %.0f/s only from when the requests were sent: the driver sent them late", t.Text, rate)
		}
	}
	sent := values[c.Sent]
	growth, known := values[c.Growth]
	switch {
	case sent < leastSent*rate:
		p.Outcome, p.Why = Late, fmt.Sprintf("it sent %.0f/s instead of %.0f/s", sent, rate)
	case known && growth > mostGrowth:
		p.Outcome, p.Why = Failed, fmt.Sprintf("requests took longer and longer at %.0f/s: answers were %.1f%% slower than requests", rate, 100*growth)
	case late != "":
		p.Outcome, p.Why = Late, late
	}
	return p, nil
}

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
