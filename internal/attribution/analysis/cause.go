package analysis

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/parity"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/usage/evidence"
)

// Seen is additional evidence about the ends of a ladder: the differences of their
// fingerprints, and the trials with kernel tracing.
type Seen struct {
	Parity []parity.Comparison
	Traced []rundir.Trial
}

// noCause ends a sentence about a part that reduces the metric without evidence of a
// cause.
const noCause = "no cause was measured"

// What a part of the network can take off the way, and where the kernel spends
// its time on it.
const (
	networkPart   = "network"
	filterFacts   = "network.filter[*]"
	trackedFact   = "network.tracked"
	filterSection = "kernel.netfilter"
)

// cause is what was seen of why a part makes things cheaper. A layer seldom does;
// where one leaves the host's network it leaves the host's packet filter.
func (s Seen) cause(plan *study.Plan, a *Attribution, part string) string {
	if !slices.ContainsFunc(strings.Split(part, "+"), func(key string) bool { return key == networkPart || strings.HasPrefix(key, networkPart+".") }) {
		return noCause
	}
	rules := s.left(a)
	before, after, less := s.spent(plan, a, filterSection)
	switch {
	case rules != "" && less:
		return fmt.Sprintf("%s passes a packet filter that %s does not (%s), and the kernel spent %s of an operation in it with %s, %s with %s", a.From, a.To, rules, before, a.From, after, a.To)
	case rules != "":
		return fmt.Sprintf("%s passes a packet filter that %s does not (%s)", a.From, a.To, rules)
	case less:
		return fmt.Sprintf("in the packet filter the kernel spent %s of an operation with %s, and %s with %s", before, a.From, after, a.To)
	}
	return noCause
}

// left is what of a packet filter the first end passes and the second does not.
func (s Seen) left(a *Attribution) string {
	var words []string
	for _, c := range s.Parity {
		if c.Environment != a.To || c.Baseline != a.From || c.Workload != a.Workload {
			continue
		}
		for _, f := range c.Findings {
			for _, d := range f.Differences {
				word := ""
				switch {
				case parity.Match(filterFacts, d.Fact) && d.Environment == parity.None:
					word = d.Baseline
				case d.Fact == trackedFact && d.Environment == "off":
					word = "connections tracked"
				}
				if word != "" && !slices.Contains(words, word) {
					words = append(words, word)
				}
			}
		}
	}
	return strings.Join(words, "; ")
}

// spent is the kernel's time of one operation in a section, at both ends; false
// where it was not watched, or is not less at the second.
func (s Seen) spent(plan *study.Plan, a *Attribution, section string) (before, after string, less bool) {
	w := plan.Workload(a.Workload)
	if w == nil {
		return "", "", false
	}
	at := func(environment string) (list []evidence.Counted) {
		for _, t := range s.Traced {
			if t.Cell() == a.place().In(environment) && t.Status == rundir.OK && t.Evidence != nil {
				list = append(list, evidence.Counted{Evidence: *t.Evidence, Operations: t.Metrics[w.Pack.Operations]})
			}
		}
		return list
	}
	from, to := at(a.From), at(a.To)
	if len(from) == 0 || len(to) == 0 {
		return "", "", false
	}
	for _, c := range evidence.Compare(to, from) {
		if more := c.Seconds(); c.Name == section && more.Missing == "" && more.Value < 0 {
			return evidence.Span(c.Fast.Seconds), evidence.Span(c.Slow.Seconds), true
		}
	}
	return "", "", false
}
