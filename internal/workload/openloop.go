package workload

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
	"tare/internal/workload/parse"
)

// OpenLoop says that the driver sends at a given rate, whether earlier requests were
// answered or not, and what shows whether server and driver kept up. It is what a search
// for the capacity needs.
type OpenLoop struct {
	// Rate is the parameter with the intended requests per second.
	Rate string `yaml:"rate" json:"rate"`
	// Latency is the metric that is a percentile of the latencies from when requests were
	// due, and Delay that of how late the driver sent them.
	Latency string `yaml:"latency" json:"latency"`
	Delay   string `yaml:"delay" json:"delay,omitempty"`
	// Sent is the field of the parser with the rate that the driver reached.
	Sent string `yaml:"sent" json:"sent"`
	// Growth is the field that says by how many seconds a request takes longer with each
	// second, as it does where the server falls behind.
	Growth string `yaml:"growth" json:"growth,omitempty"`
	// Answered is the field with the rate of answers, and Errors that with the share of
	// requests that failed.
	Answered string `yaml:"answered" json:"answered,omitempty"`
	Errors   string `yaml:"errors" json:"errors,omitempty"`
}

// Metric of the pack by its name; nil where there is none.
func (p *Pack) Metric(name string) *Metric {
	i := slices.IndexFunc(p.Metrics, func(m Metric) bool { return m.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Metrics[i]
}

// AtRate returns the parameters with another rate of the open loop.
func (p Pack) AtRate(parameters map[string]string, rate float64) map[string]string {
	all := maps.Clone(parameters)
	if all == nil {
		all = map[string]string{}
	}
	all[p.OpenLoop.Rate] = strconv.FormatFloat(rate, 'f', 0, 64)
	return all
}

// Rates returns the rate that the parameters have, and the largest one.
func (p Pack) Rates(parameters map[string]string) (from, most float64) {
	from, _ = p.Parameters[p.OpenLoop.Rate].Number(p.value(parameters, p.OpenLoop.Rate)) // With checks it
	most = math.MaxInt32
	if limit := p.Parameters[p.OpenLoop.Rate].Max; limit != nil {
		most = *limit
	}
	return from, most
}

// AtPercentile is another percentile of the distribution of a metric, as parsers name it:
// latency_p99, latency_p999.
func (m Metric) AtPercentile(percent float64) Metric {
	digits := strings.ReplaceAll(strconv.FormatFloat(percent, 'f', -1, 64), ".", "")
	stem, _, _ := strings.Cut(m.Name, "_p")
	m.Name, m.Field, m.Percentile, m.Primary, m.About = stem+"_p"+digits, "", &percent, false, ""
	return m
}

func validateOpenLoop(p *Pack, root strictyaml.Node) {
	l, at := p.OpenLoop, root.At("open_loop")
	if l == nil {
		return
	}
	if p.ClosedLoop {
		root.At("closed_loop").Problemf("closed_loop: does not go with open_loop, whose driver sends whether earlier requests were answered or not")
	}
	parameters := slices.Sorted(maps.Keys(p.Parameters))
	switch spec, given := p.Parameters[l.Rate]; {
	case l.Rate == "":
		at.Problemf("open_loop: rate: is missing; it names the parameter with the rate of the driver")
	case !given:
		at.At("rate").Problemf("open_loop: rate: %s", strictyaml.Unknown("parameter", l.Rate, parameters))
	case !spec.Numeric() || !spec.whole():
		at.At("rate").Problemf("open_loop: rate: parameter %s needs a whole number as its default", l.Rate)
	case p.Driver == nil || !slices.Contains(p.Driver.References(), l.Rate):
		at.At("rate").Problemf("open_loop: rate: the driver does not use ${%s}", l.Rate)
	}
	metrics := lists.Map(p.Metrics, func(m Metric) string { return m.Name })
	for _, one := range []struct{ key, name string }{{"latency", l.Latency}, {"delay", l.Delay}} {
		switch m := p.Metric(one.name); {
		case one.name == "" && one.key == "latency":
			at.Problemf("open_loop: latency: is missing; it names a metric with a percentile")
		case one.name == "":
		case m == nil:
			at.At(one.key).Problemf("open_loop: %s: %s", one.key, strictyaml.Unknown("metric", one.name, metrics))
		case m.Percentile == nil || m.Of == "":
			at.At(one.key).Problemf("open_loop: %s: metric %s needs percentile and of", one.key, one.name)
		}
	}
	if l.Sent == "" {
		at.Problemf("open_loop: sent: is missing; it names the field of the parser with the rate that the driver reached")
	}
	parser, named := parse.Lookup(p.Parser.Name)
	fields := lists.Map(parser.Fields, func(f parse.Field) string { return f.Name })
	for _, one := range []struct{ key, field string }{{"sent", l.Sent}, {"growth", l.Growth}, {"answered", l.Answered}, {"errors", l.Errors}} {
		if named && one.field != "" && !slices.Contains(fields, one.field) {
			at.At(one.key).Problemf("open_loop: %s: %s", one.key, strictyaml.Unknown("field of parser "+p.Parser.Name, one.field, fields))
		}
	}
}
