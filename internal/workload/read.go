package workload

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/usage/cost"
	"tare/internal/workload/parse"
)

// FieldName returns the field of the parser's output that has the metric.
func (m Metric) FieldName() string {
	if m.Field != "" {
		return m.Field
	}
	return m.Name
}

// derived reports whether tare adds the metric itself.
func (m Metric) derived() bool {
	return cost.Named(m.Name) || m.Name == CPUSeconds || m.Name == ReadySeconds || m.Name == StartAll
}

// FromOutput reports whether the metric is parsed from the driver's output rather
// than measured by tare.
func (m Metric) FromOutput() bool { return !m.derived() && !slices.Contains(Measured, m.FieldName()) }

func (p *Pack) onlyMeasured() bool {
	return !slices.ContainsFunc(p.Metrics, Metric.FromOutput)
}

// Output is what a pack parses from one output of its driver.
type Output struct {
	Metrics map[string]float64
	Missing map[string]string // the reason for each metric that it does not have
	// Distributions are those that metrics are percentiles of, by Metric.Of.
	Distributions map[string]parse.Histogram
	driver        string
}

// OperationsWord says what the driver attempts: requests, transactions, calls.
func (p Pack) OperationsWord() string {
	names := append(lists.Map(p.Metrics, func(m Metric) string { return m.Name }), p.Operations)
	if named, ok := parse.Lookup(p.Parser.Name); ok {
		names = append(names, named.FieldNames()...)
	}
	for _, word := range []string{"requests", "transactions", "calls"} {
		if slices.Contains(names, word) {
			return word
		}
	}
	return "operations"
}

// ErrorRatio is the metric with the share of the operations that failed.
const ErrorRatio = parse.ErrorRatio

// addErrors lets a pack have the share of the operations that failed, if its driver tells it.
func (p *Pack) addErrors() {
	other, has := p.otherParser()
	named, known := parse.Lookup(p.Parser.Name)
	if !known || !named.HasField(ErrorRatio) || has && !other.HasField(ErrorRatio) || p.Metric(ErrorRatio) != nil {
		return
	}
	p.Metrics = append(p.Metrics, ErrorMetric)
}

// ErrorMetric is the metric of that name.
var ErrorMetric = Metric{Name: ErrorRatio, Unit: "1", Better: "lower", About: "share of the operations that failed"}

// Parse parses the pack's metrics from the driver's output. A missing primary
// metric is an error, and so is output that cannot be parsed. Of an output in which
// every operation failed there is that share alone: how fast they failed is no metric.
func (p Pack) Parse(stdout []byte) (Output, error) {
	o := Output{Metrics: map[string]float64{}, Missing: map[string]string{}, driver: cmp.Or(p.Parser.Name, "the driver")}
	if p.onlyMeasured() {
		return o, nil
	}
	fields, missing, err := p.parse(stdout)
	if err == nil {
		o.Distributions, err = p.distributions(stdout)
	}
	if err != nil {
		return Output{}, fmt.Errorf("parsing the output of workload %s: %w", p.Name, err)
	}
	nothing := fields[parse.ErrorRatio] == 1
	for _, m := range p.Metrics {
		if !m.FromOutput() {
			continue
		}
		if nothing && m.FieldName() != parse.ErrorRatio && m.FieldName() != "errors" {
			o.Missing[m.Name] = fmt.Sprintf("100%% of the %s failed", p.OperationsWord())
			continue
		}
		value, ok := fields[m.FieldName()]
		if !ok && m.Percentile != nil {
			value, ok = o.Distributions[m.Of].Percentile(*m.Percentile)
		}
		if ok && !quantity.Measured(value) {
			return Output{}, fmt.Errorf("the output of workload %s has %g as its %s, which is out of range: numbers are 0, or between %g and %g", p.Name, value, m.Name, quantity.Least, quantity.Most)
		}
		reason := cmp.Or(missing[m.FieldName()], "the driver printed no "+m.FieldName())
		switch {
		case ok:
			o.Metrics[m.Name] = value
		case m.Primary:
			if missing[m.FieldName()] == "" {
				return Output{}, fmt.Errorf("the output of workload %s has no %s, the primary metric", p.Name, m.FieldName())
			}
			return Output{}, fmt.Errorf("the output of workload %s has no %s, the primary metric: %s", p.Name, m.Name, reason)
		default:
			o.Missing[m.Name] = reason
		}
	}
	return o, nil
}

// distributions parses those that metrics are percentiles of.
func (p Pack) distributions(stdout []byte) (all map[string]parse.Histogram, err error) {
	if named, ok := parse.Lookup(p.Parser.Name); ok && named.Histograms != nil && slices.ContainsFunc(p.Metrics, func(m Metric) bool { return m.Of != "" }) {
		return named.Histograms(stdout)
	} else if ok {
		return nil, nil
	}
	all = map[string]parse.Histogram{}
	for _, m := range p.Metrics {
		if _, done := all[m.Of]; done || m.Of == "" {
			continue
		}
		var h parse.Histogram
		switch {
		case p.Parser.JSON:
			h, err = parse.JSONHistogram(m.Of, stdout)
		case p.Parser.CSV:
			h, err = parse.CSVHistogram(m.Of, stdout)
		default:
			var pattern *regexp.Regexp
			if pattern, err = regexp.Compile(m.Of); err == nil {
				h, err = parse.RegexHistogram(pattern, stdout)
			}
		}
		if err != nil {
			return nil, err
		}
		if h != nil {
			all[m.Of] = h
		}
	}
	return all, nil
}

// Together returns a percentile of what several outputs count together, or why it
// has none. several says what the outputs are of.
func (m Metric) Together(outputs []Output, several string) (value float64, missing string) {
	var sum parse.Histogram
	var values []float64
	counted := m.Of != "" && len(outputs) > 1
	for _, o := range outputs {
		h, there := o.Distributions[m.Of]
		sum, counted = append(sum, h...), counted && there
		if v, there := o.Metrics[m.Name]; there {
			values = append(values, v)
		} else if missing == "" {
			missing = o.Missing[m.Name]
		}
	}
	if counted {
		if value, ok := sum.Percentile(*m.Percentile); ok {
			return value, ""
		}
	}
	switch {
	case len(values) < len(outputs):
		return 0, cmp.Or(missing, "the driver printed no "+m.FieldName())
	case len(values) == 1 || *m.Percentile == 100:
		return slices.Max(values), ""
	case *m.Percentile == 0:
		return slices.Min(values), ""
	}
	return 0, outputs[0].driver + " prints percentiles, which do not add up over " + several
}

// parse returns the parser's fields, and for fields that are not in the output the
// reason, if the parser knows more than that.
func (p Pack) parse(stdout []byte) (fields map[string]float64, missing map[string]string, err error) {
	var names []string
	for _, m := range p.Metrics {
		if m.FromOutput() && (m.Of == "" || m.Field != "") {
			names = append(names, m.FieldName())
		}
	}
	switch {
	case p.Parser.JSON:
		return parse.JSON(names, stdout)
	case p.Parser.CSV:
		return parse.CSV(names, stdout)
	case len(p.Parser.Regex) > 0:
		patterns := make([]*regexp.Regexp, len(p.Parser.Regex))
		for i, text := range p.Parser.Regex {
			pattern, err := regexp.Compile(text)
			if err != nil {
				return nil, nil, err
			}
			patterns[i] = pattern
		}
		fields, err = parse.Regex(patterns, stdout)
		return fields, nil, err
	}
	named, ok := parse.Lookup(p.Parser.Name)
	if !ok {
		return nil, nil, fmt.Errorf("unknown parser %q; known: %s", p.Parser.Name, strings.Join(parse.Names(), ", "))
	}
	fields, err = named.Parse(stdout)
	return fields, nil, err
}

// Series parses the values over time from the driver's output, if the parser
// supports that.
func (p Pack) Series(stdout []byte) (map[string][]parse.Point, error) {
	named, ok := parse.Lookup(p.Parser.Name)
	if !ok || named.Series == nil {
		return nil, nil
	}
	return named.Series(stdout)
}
