package importer

import (
	"fmt"
	"slices"

	"tare/internal/workload"
	"tare/internal/workload/parse"
)

// fallBack makes another metric primary where no output has that of the tool, as
// redis-benchmark without its test GET: the first rate that each output has, else the first
// other metric. It says which; "" leaves all as it is.
func (b *Batch) fallBack(contents []*content) string {
	var has []string // each output
	for _, c := range contents {
		for _, one := range c.results {
			switch {
			case one.failed == "":
				return ""
			case len(one.has) > 0 && has == nil:
				has = slices.Clone(one.has)
			case len(one.has) > 0:
				has = slices.DeleteFunc(has, func(field string) bool { return !slices.Contains(one.has, field) })
			}
		}
	}
	metrics := slices.Clone(b.Pack.Metrics)
	if parser, named := parse.Lookup(b.Pack.Parser.Name); named {
		for _, m := range bare(parser).Metrics { // a pack has some of its parser's
			if b.Pack.Metric(m.Name) == nil {
				m.Primary = false
				metrics = append(metrics, m)
			}
		}
	}
	can := func(m workload.Metric) bool {
		return m.Name != workload.ErrorRatio && m.Percentile == nil && slices.Contains(has, m.FieldName())
	}
	at := slices.IndexFunc(metrics, func(m workload.Metric) bool { return can(m) && m.Better == "higher" })
	if at < 0 {
		at = slices.IndexFunc(metrics, can)
	}
	if b.chosen || at < 0 {
		return ""
	}
	if at >= len(b.Pack.Metrics) {
		metrics = append(metrics[:len(b.Pack.Metrics)], metrics[at])
		at = len(metrics) - 1
	}
	b.Pack.Metrics = metrics[:max(at+1, len(b.Pack.Metrics))]
	lacks := ""
	for i := range b.Pack.Metrics {
		if m := &b.Pack.Metrics[i]; m.Primary && !slices.Contains(has, m.FieldName()) {
			lacks, m.Primary = m.Name, false
		}
	}
	m := &b.Pack.Metrics[at]
	m.Primary = true
	m.About = fmt.Sprintf("the primary metric, since no output has %s", lacks)
	return fmt.Sprintf("%s: no output has %s, so %s is the primary metric; --metric (in a manifest, metrics) chooses another", b.Workload, lacks, m.Name)
}
