package bench

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/workload"
	"tare/internal/workload/parse"
)

// figureForm is NAME=SOURCE:WHERE,unit=UNIT,lower|higher. WHERE can have commas.
var figureForm = regexp.MustCompile(`^([^=]+)=(json|csv|regex):(.+),unit=([^,=]+),(lower|higher)$`)

// figures are the metrics of --figure, which decide in place of the wall time, and the
// parser of the command's output. A pack has one parser, so all figures have one source.
func (o Options) figures() (metrics []workload.Metric, parser workload.Parser, err error) {
	sources := map[string]bool{}
	for _, text := range o.Figures {
		m := figureForm.FindStringSubmatch(text)
		if m == nil {
			return nil, parser, fmt.Errorf("--figure %q: expected NAME=SOURCE:WHERE,unit=UNIT,lower|higher, such as rps='json:$.rate,unit=op/s,higher'; SOURCE is json, csv or regex", text)
		}
		name, source, where := m[1], m[2], m[3]
		if err := workload.CheckMetricName(name); err != nil {
			return nil, parser, fmt.Errorf("--figure %s: %w", name, err)
		}
		if slices.ContainsFunc(metrics, func(m workload.Metric) bool { return m.Name == name }) {
			return nil, parser, fmt.Errorf("--figure %s: it is named twice", name)
		}
		metric := workload.Metric{Name: name, Unit: m[4], Better: m[5], Primary: true, About: "of the command's output: " + source + " " + where}
		switch source {
		case "json":
			parser.JSON, metric.Field, err = true, where, parse.CheckPath(where)
		case "csv":
			parser.CSV, metric.Field = true, where
		case "regex":
			var pattern string
			pattern, err = named(where, name)
			parser.Regex = append(parser.Regex, pattern)
		}
		if err == nil && slices.Contains(workload.Measured, where) {
			err = fmt.Errorf("%s is what tare itself measures: for a value of the output with this name write json:$.%s", where, where)
		}
		if err != nil {
			return nil, parser, fmt.Errorf("--figure %s: %w", name, err)
		}
		if sources[source] = true; len(sources) > 1 {
			return nil, parser, fmt.Errorf("--figure %s: all figures of a command come from one source, json, csv or regex; an expression can also match in JSON", name)
		}
		metrics = append(metrics, metric)
	}
	return metrics, parser, nil
}

// named gives the one group of an expression a name. In it ^ and $ are the ends of a line.
func named(text, name string) (string, error) {
	expression, err := syntax.Parse(text, syntax.Perl&^syntax.OneLine)
	if err != nil {
		return "", err
	}
	var groups []*syntax.Regexp
	var walk func(*syntax.Regexp)
	walk = func(e *syntax.Regexp) {
		if e.Op == syntax.OpCapture {
			groups = append(groups, e)
		}
		for _, below := range e.Sub {
			walk(below)
		}
	}
	walk(expression)
	if len(groups) != 1 {
		return "", fmt.Errorf("the expression %s needs exactly one group, around the value, and has %d; (?:...) groups without one", text, len(groups))
	}
	groups[0].Name = name
	return expression.String(), nil
}

// figuresOf names the metrics of a plan's pack that are figures.
func figuresOf(p workload.Pack) []workload.Metric {
	return lists.Filter(p.Metrics, func(m workload.Metric) bool { return m.Primary && m.Name != workload.WallSeconds })
}
