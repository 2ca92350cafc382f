package table

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/model"

	"tare/internal/base/quantity"
)

// prometheus reads the answer to a range query, or to a query at one time. Each label is a
// column.
func prometheus(name string, data []byte) (*table, error) {
	var answer struct {
		Status string `json:"status"`
		Error  string `json:"error"`
		Data   struct {
			Type   string `json:"resultType"`
			Result []struct {
				Metric     model.Metric       `json:"metric"`
				Values     []model.SamplePair `json:"values"`
				Value      *model.SamplePair  `json:"value"`
				Histograms []any              `json:"histograms"`
				Histogram  any                `json:"histogram"`
			} `json:"result"`
		} `json:"data"`
	}
	if err := decode(name, data, &answer); err != nil {
		return nil, err
	}
	switch {
	case answer.Status != "success":
		return nil, fmt.Errorf("%s: the query failed: %s %s", name, answer.Status, answer.Error)
	case answer.Data.Type != "matrix" && answer.Data.Type != "vector":
		return nil, fmt.Errorf("%s: the query's result is a %s: a range query has a matrix", name, answer.Data.Type)
	}
	labels := map[model.LabelName]bool{}
	for _, series := range answer.Data.Result {
		for label := range series.Metric {
			labels[label] = label != model.MetricNameLabel
		}
	}
	delete(labels, model.MetricNameLabel)
	names := slices.Sorted(maps.Keys(labels))
	t := &table{name: name, made: true, columns: []string{metric, "time", value, seriesColumn}, roles: map[string]string{metric: metric, environment: byFile}}
	if len(names) > 0 {
		t.roles[environment] = ""
	}
	for _, label := range names {
		t.columns = append(t.columns, string(label))
	}
	none := 0
	for _, series := range answer.Data.Result {
		what := string(series.Metric[model.MetricNameLabel])
		for _, end := range []string{"_total", "_count", "_sum", "_bucket"} {
			if strings.HasSuffix(what, end) {
				return nil, fmt.Errorf("%s: %s counts since its start, so that its values say when they were taken: query its rate, as in rate(%s[1m])", name, what, what)
			}
		}
		if len(series.Histograms) > 0 || series.Histogram != nil {
			return nil, fmt.Errorf("%s: %s has native histograms: query a value of them, as in histogram_quantile(0.99, rate(%s[1m]))", name, series.Metric, what)
		}
		values := series.Values
		if series.Value != nil {
			values = append(values, *series.Value)
		}
		for _, v := range values {
			if !quantity.Measured(float64(v.Value)) {
				none++
				continue
			}
			cells := []string{what, v.Timestamp.String(), shown(float64(v.Value)), series.Metric.String()}
			for _, label := range names {
				cells = append(cells, string(series.Metric[label]))
			}
			t.addRow(cells...)
		}
	}
	if none > 0 {
		t.remarks = append(t.remarks, fmt.Sprintf("%s: %s NaN or infinite, and left out", name, quantity.Counted(none, "value", "values")))
	}
	return t, nil
}

// seriesColumn tells series apart.
const seriesColumn = "series"
