package dashboard

import "tare/internal/metrics"

// board builds a dashboard: panels are placed from left to right, line by line.
type board struct {
	live   bool
	panels []panel
	x, y   int
	height int // of the current line of panels
}

// The width of a dashboard, and the heights of its panels.
const (
	columns = 24
	small   = 4
	large   = 8
)

var source = &reference{Type: "prometheus", UID: "${datasource}"}

func (b *board) place(p panel, w, h int) {
	if b.x+w > columns {
		b.newLine()
	}
	p.ID, p.GridPos = len(b.panels)+1, position{h, w, b.x, b.y}
	b.x, b.height = b.x+w, max(b.height, h)
	b.panels = append(b.panels, p)
}

func (b *board) newLine() { b.x, b.y, b.height = 0, b.y+b.height, 0 }

func (b *board) row(title string) {
	b.newLine()
	b.place(panel{Type: "row", Title: title, Collapsed: new(bool), Panels: &[]panel{}}, columns, 1)
	b.newLine()
}

func (b *board) stat(title string, w int, unit, legend, expression, text string) {
	b.place(panel{
		Type: "stat", Title: title, Datasource: source,
		Targets: []target{{RefID: "A", Datasource: source, Expr: expression, LegendFormat: legend, Instant: true}},
		Options: statOptions{ColorMode: "value", GraphMode: "none", JustifyMode: "auto", TextMode: text, WideLayout: true,
			PercentColorMode: "standard", Orientation: "auto", Reduce: reduce{[]string{"lastNotNull"}}},
		FieldConfig: &fieldConfig{Defaults: defaults{Unit: unit}, Overrides: []struct{}{}},
	}, w, small)
}

func (b *board) graph(title string, w int, unit, legendFormat, expression string) {
	// Trials are points without values between them.
	points := "auto"
	if !b.live {
		points = "always"
	}
	b.place(panel{
		Type: "timeseries", Title: title, Datasource: source,
		Targets: []target{{RefID: "A", Datasource: source, Expr: expression, LegendFormat: legendFormat, Range: true}},
		Options: graphOptions{legend{[]string{"lastNotNull"}, "list", "bottom", true}, tooltip{"multi", "desc"}},
		FieldConfig: &fieldConfig{Defaults: defaults{Unit: unit, Custom: graphStyle{"line", 1, points, 4, false}},
			Overrides: []struct{}{}},
	}, w, large)
}

// table shows several queries as one table, with a column for each.
func (b *board) table(title string, w int, expressions []string, hidden map[string]bool, names map[string]string) {
	p := panel{
		Type: "table", Title: title, Datasource: source, Options: tableOptions{ShowHeader: true},
		FieldConfig:     &fieldConfig{Overrides: []struct{}{}},
		Transformations: []transformation{{"merge", struct{}{}}, {"organize", organize{hidden, names}}},
	}
	if names == nil {
		p.Transformations[1].Options = organize{hidden, map[string]string{}}
	}
	for i, e := range expressions {
		p.Targets = append(p.Targets, target{RefID: string(rune('A' + i)), Datasource: source, Expr: e, Instant: true, Format: "table"})
	}
	b.place(p, w, large)
}

// page returns the dashboard with its variables.
func (b *board) page(uid, title, about, refresh string, time span) Dashboard {
	ofRun := metrics.RunInfo.Name
	return Dashboard{
		UID: uid, Title: title, Description: about, Tags: []string{"tare"}, Editable: true, Tooltip: 1, SchemaVersion: 39,
		Refresh: refresh, Time: time, Panels: b.panels,
		Templating: templating{[]variable{
			{Type: "datasource", Name: "datasource", Label: "Prometheus", Query: "prometheus"},
			choice("run", "Run", "label_values("+ofRun+", run)", false),
			choice("environment", "Environment", `label_values(`+metrics.Trials.Name+`{run="$run"}, environment)`, true),
			choice("workload", "Workload", `label_values(`+metrics.Metric.Name+`{run="$run"}, workload)`, true),
			choice("metric", "Metric", `label_values(`+metrics.Metric.Name+`{run="$run",workload=~"$workload"}, metric)`, true),
		}},
	}
}

// choice returns a variable whose values are those of a label.
func choice(name, label, query string, several bool) variable {
	v := variable{Type: "query", Name: name, Label: label, Query: variableQuery{query, name}, Datasource: source, Refresh: 2, Sort: 1}
	if several {
		v.Multi, v.IncludeAll, v.AllValue, v.Current = true, true, ".*", &current{"All", "$__all"}
	} else {
		v.Sort = 2 // the latest run first: names end in the time
	}
	return v
}
