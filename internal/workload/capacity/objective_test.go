package capacity

import (
	"math"
	"strings"
	"testing"
)

func TestAnObjectiveIsAListOfBounds(t *testing.T) {
	bounds, err := ParseObjective(" p99<=50ms ,errors <= 0.1%, throughput≥ 100,p99.9 <= 0.2s")
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range []struct {
		text, unit string
		value      float64
		percent    float64
	}{
		{"p99 <= 50ms", "us", 50000, 99}, {"errors <= 0.1%", "1", .001, 0}, {"throughput >= 100", "op/s", 100, 0}, {"p99.9 <= 0.2s", "ms", 200, 99.9},
	} {
		value, err := bounds[n].In(want.unit)
		percent, _ := bounds[n].Percentile()
		if err != nil || bounds[n].String() != want.text || math.Abs(value-want.value) > 1e-9 || percent != want.percent {
			t.Errorf("%s is %g %s and percentile %g, %v", bounds[n], value, want.unit, percent, err)
		}
	}
}

func TestAWrongObjectiveIsNamed(t *testing.T) {
	for text, want := range map[string]string{
		"":                         `"" is not like p99 <= 50ms`,
		"fast":                     `"fast" is not like p99 <= 50ms`,
		"p99 < 50ms":               "< is not known; a bound is <= or >=",
		"p99 <= 50ms,":             `"" is not like p99 <= 50ms`,
		"p99 <= 5ms, p99 <= 6ms":   "p99 has two bounds, p99 <= 5ms and p99 <= 6ms",
		"p99 <= 50ms; errors <= 1": `p99 <= 50ms; errors <= 1: "50ms; errors <= 1" is not a time such as 50ms`,
		"p99 <= 50":                `p99 <= 50: "50" is not a time such as 50ms`,
		"p99 <= -5ms":              "is not a time",
		"errors <= few":            `errors <= few: "few" is not a share such as 0.1%`,
		"errors <= 2":              "errors <= 2: 2 is above 100%",
		"rate >= 10%":              "a percentage is a share, and rate is in op/s",
		"rate >= NaN":              "is not a number of op/s",
	} {
		bounds, err := ParseObjective(text)
		for _, b := range bounds {
			unit := map[byte]string{'p': "us", 'e': "1", 'r': "op/s"}[b.Name[0]]
			if err == nil {
				_, err = b.In(unit)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v instead of %s", text, err, want)
		}
	}
}

func TestAProbeShowsServerOrDriver(t *testing.T) {
	c := Criteria{Sent: "sent", Growth: "growth", Answered: "answered", Terms: []Term{
		{Text: "p99 <= 50ms", Metric: "latency", Limit: 50, Delay: "delay"}, {Text: "errors <= 0.1%", Metric: "errors", Limit: .001},
	}}
	for _, one := range []struct {
		sent, latency, delay, errors, growth float64
		outcome                              Outcome
		why                                  string
	}{
		{1000, 10, 1, 0, 0, Held, ""},
		{985, 50, 30, .001, .01, Held, ""}, // it held in spite of the driver
		{1000, 80, 10, 0, 0, Failed, "p99 <= 50ms: it was 1.6 times that at 1000/s"},
		{1000, 10, 1, .01, 0, Failed, "errors <= 0.1%: it was 10 times that at 1000/s"},
		{1000, 20, 1, 0, .05, Failed, "answers came later and later at 1000/s: requests exceeded them by 5.0%"},
		{1000, 80, 11, 0, 0, Late, "at 1000/s it sent requests late by more than a fifth of p99 <= 50ms"},
		{900, 10, 1, 0, 0, Late, "it sent 900/s instead of 1000/s"},
		{900, 80, 1, 0, .05, Late, "it sent 900/s"},
	} {
		p, err := c.Judge(1000, map[string]float64{"sent": one.sent, "latency": one.latency, "delay": one.delay, "errors": one.errors, "growth": one.growth, "answered": 990}, 0)
		if err != nil || p.Outcome != one.outcome || !strings.Contains(p.Why, one.why) || p.Rate != 1000 || p.Answered != 990 {
			t.Errorf("%+v: %+v, %v", one, p, err)
		}
	}
	least := Criteria{Sent: "sent", Terms: []Term{{Text: "hits >= 90%", Metric: "hits", AtLeast: true, Limit: .9}}}
	if p, err := least.Judge(10, map[string]float64{"sent": 10, "hits": .8}, 0); err != nil || p.Outcome != Failed {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := least.Judge(10, map[string]float64{"sent": 10}, 0); err == nil || !strings.Contains(err.Error(), "has no hits") {
		t.Errorf("without a value: %v", err)
	}
}

// A tenth of a millisecond a request is 80% of a core at 8000/s, whatever else a sample took.
func TestABoundOnTheCPUIsOfTheTimeThatRequestsAreSent(t *testing.T) {
	c := Criteria{Sent: "sent", Terms: []Term{{Text: "cpu <= 80%", Metric: CPU, Limit: 80}}}
	for sent, want := range map[float64]Outcome{7990: Held, 8010: Failed} {
		if p, err := c.Judge(sent, map[string]float64{"sent": sent}, .0001); err != nil || p.Outcome != want || p.CPU != .0001 {
			t.Errorf("%g/s: %+v, %v", sent, p, err)
		}
	}
	if _, err := c.Judge(8000, map[string]float64{"sent": 8000}, 0); err == nil || !strings.Contains(err.Error(), "the probe at 8000/s has no cpu") {
		t.Errorf("without the CPU time: %v", err)
	}
}

// Refusals are quick.
func TestAProbeWhoseRequestsFailDoesNotHold(t *testing.T) {
	latency := Term{Text: "p99 <= 50ms", Metric: "latency", Limit: 50}
	errors := Term{Text: "errors <= 20%", Metric: "error_ratio", Limit: .2}
	for _, one := range []struct {
		terms []Term
		share float64
		want  Outcome
	}{
		{[]Term{latency}, 0, Held},
		{[]Term{latency}, .005, Held},
		{[]Term{latency}, .1, Failed},
		{[]Term{latency, errors}, .1, Held},
		{[]Term{latency, errors}, .3, Failed},
	} {
		c := Criteria{Terms: one.terms, Sent: "sent"}
		if p, err := c.Judge(1000, map[string]float64{"sent": 1000, "latency": 1, "error_ratio": one.share}, 0); err != nil || p.Outcome != one.want {
			t.Errorf("%v fail, %d terms: %+v, %v", one.share, len(one.terms), p, err)
		}
	}
	// Of an output in which all failed nothing else is read.
	c := Criteria{Terms: []Term{latency}, Sent: "sent"}
	if p, err := c.Judge(1000, map[string]float64{"error_ratio": 1}, 0); err != nil || p.Outcome != Failed || p.Why != "100.0% of the requests failed at 1000/s" {
		t.Errorf("%+v, %v", p, err)
	}
}
