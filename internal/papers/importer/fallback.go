package importer

import (
	"fmt"
	"slices"

	"tare/internal/base/lists"
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
	can := func(m workload.Metric) bool {
		return m.Name != workload.ErrorRatio && m.Percentile == nil && slices.Contains(has, m.FieldName())
	}
	candidates := lists.Filter(slices.Concat(b.Pack.Metrics, b.beside()), can)
	if b.chosen || len(candidates) == 0 {
		return ""
	}
	other := candidates[max(0, slices.IndexFunc(candidates, func(m workload.Metric) bool { return m.Better == "higher" }))]
	lacks := ""
	pack := b.Pack
	pack.Metrics = lists.Map(pack.Metrics, func(m workload.Metric) workload.Metric {
		if m.Primary && !slices.Contains(has, m.FieldName()) {
			lacks, m.Primary = m.Name, false
		}
		return m
	})
	if pack.Metric(other.Name) == nil {
		pack.Metrics = append(pack.Metrics, other)
	}
	m := pack.Metric(other.Name)
	m.Primary, m.About = true, fmt.Sprintf("the primary metric, since no output has %s", lacks)
	b.Pack = pack
	return fmt.Sprintf("%s: no output has %s, so %s is the primary metric; --metric (in a manifest, metrics) chooses another", b.Workload, lacks, m.Name)
}

// beside are the metrics of the parser that the pack has not.
func (b *Batch) beside() []workload.Metric {
	parser, named := parse.Lookup(b.Pack.Parser.Name)
	if !named {
		return nil
	}
	return lists.Filter(bare(parser).Metrics, func(m workload.Metric) bool { return b.Pack.Metric(m.Name) == nil })
}
