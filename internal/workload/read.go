package workload

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tare/internal/cost"
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

// ParseMetrics parses the pack's metrics from the driver's output. A metric that
// the output does not have is in missing, with the reason. A missing primary
// metric is an error, and so is output that cannot be parsed.
func (p Pack) ParseMetrics(stdout []byte) (metrics map[string]float64, missing map[string]string, err error) {
	if p.onlyMeasured() {
		return map[string]float64{}, map[string]string{}, nil
	}
	fields, err := p.parse(stdout)
	if err != nil {
		return nil, nil, fmt.Errorf("parsing the output of workload %s: %w", p.Name, err)
	}
	metrics, missing = map[string]float64{}, map[string]string{}
	for _, m := range p.Metrics {
		if !m.FromOutput() {
			continue
		}
		value, ok := fields[m.FieldName()]
		switch {
		case ok:
			metrics[m.Name] = value
		case m.Primary:
			return nil, nil, fmt.Errorf("the output of workload %s has no %s, the primary metric", p.Name, m.FieldName())
		default:
			missing[m.Name] = "the driver printed no " + m.FieldName()
		}
	}
	return metrics, missing, nil
}

func (p Pack) parse(stdout []byte) (map[string]float64, error) {
	var names []string
	for _, m := range p.Metrics {
		if m.FromOutput() {
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
				return nil, err
			}
			patterns[i] = pattern
		}
		return parse.Regex(patterns, stdout)
	}
	named, ok := parse.Lookup(p.Parser.Name)
	if !ok {
		return nil, fmt.Errorf("unknown parser %q; known: %s", p.Parser.Name, strings.Join(parse.Names(), ", "))
	}
	return named.Parse(stdout)
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
