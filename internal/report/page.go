package report

import (
	"fmt"
	"html/template"
	"regexp"
	"strings"

	"tare/internal/environment"
	"tare/internal/rundir"
)

// page is what the HTML template sees beside the view.
type page struct {
	*view
	Policy string
	Script template.JS
	Style  template.CSS
	Data   template.JS
	bars   bars
}

func (p *page) Headlines() []headline {
	all := p.headlines()
	for i := range all {
		all[i].Text = typeset(all[i].Text)
	}
	return all
}

func (p *page) Overview() string { return p.overview() }
func (p *page) Made() []fact     { return p.made() }

// MachineInWords is what the run took place on.
func (p *page) MachineInWords() string {
	if p.Manifest.Import != nil {
		return p.importedOn()
	}
	return p.Manifest.Machine.CPU + ", " + p.Manifest.Machine.Distribution
}

// Compared are the environments that have a column in the matrix.
func (p *page) Compared() []environmentView {
	var kept []environmentView
	for _, e := range p.Environments {
		if e.Compared() {
			kept = append(kept, e)
		}
	}
	return kept
}

// Ran leaves out the cells of environments that were skipped as a whole.
func (m metricView) Ran() []cell {
	var kept []cell
	for _, c := range m.Cells {
		if c.Environment.Ran() {
			kept = append(kept, c)
		}
	}
	return kept
}

// Title and Heading are for the template.
func (m metricView) Title() string { return m.title() }

// matrixRow is one row of the verdict matrix, with what the rows above it have
// said already left out.
type matrixRow struct {
	metricView
	Workload     workloadView
	Level        string
	NewWorkload  bool
	NewLevel     bool
	WorkloadRows int
	LevelRows    int
}

// Matrix is the primary metrics of every workload at every level.
func (p *page) Matrix() []matrixRow {
	var rows []matrixRow
	for _, w := range p.Workloads {
		first := len(rows)
		for _, l := range w.Levels {
			begin := len(rows)
			for _, m := range l.Metrics {
				if m.Primary {
					rows = append(rows, matrixRow{metricView: m, Workload: w, Level: l.Name})
				}
			}
			if begin < len(rows) {
				rows[begin].NewLevel, rows[begin].LevelRows = true, len(rows)-begin
			}
		}
		if first < len(rows) {
			rows[first].NewWorkload, rows[first].WorkloadRows = true, len(rows)-first
		}
	}
	return rows
}

// Swept says whether any workload has levels: else their column is left out.
func (p *page) Swept() bool {
	for _, w := range p.Workloads {
		if w.Swept() {
			return true
		}
	}
	return false
}

// Swept says whether the workload has more than one level.
func (w workloadView) Swept() bool { return len(w.Levels) > 1 }

// Choice is one metric at one level that a chart can show.
type choice struct {
	Value, Text string
	Selected    bool
}

// Metrics of a workload at any level, in the order in which charts number them.
func (w workloadView) metrics() []metricView {
	var all []metricView
	seen := map[string]bool{}
	for _, l := range w.Levels {
		for _, m := range l.Metrics {
			if !seen[m.Name] {
				seen[m.Name] = true
				all = append(all, m)
			}
		}
	}
	return all
}

// numbered is a metric with the number that the charts know it by.
type numbered struct {
	metricView
	Number int
}

// Plotted are the metrics that get an interval plot: the primary ones and CPU
// time per thousand operations.
func (w workloadView) Plotted() []numbered {
	var kept []numbered
	for i, m := range w.metrics() {
		if m.Primary || m.Companion {
			kept = append(kept, numbered{m, i})
		}
	}
	return kept
}

// Choices for the plot of every trial.
func (w workloadView) Choices() []choice {
	var all []choice
	chosen := false
	for i, m := range w.metrics() {
		for j, l := range w.Levels {
			c := choice{Value: fmt.Sprintf("%d,%d", i, j), Text: m.title()}
			if l.Name != "" {
				c.Text += ", " + l.Name
			}
			if m.Primary && !chosen {
				c.Selected, chosen = true, true
			}
			all = append(all, c)
		}
	}
	return all
}

// MetricChoices for the curves, which show all levels at once.
func (w workloadView) MetricChoices() []choice {
	var all []choice
	chosen := false
	for i, m := range w.metrics() {
		c := choice{Value: fmt.Sprintf("%d,0", i), Text: m.title()}
		if m.Primary && !chosen {
			c.Selected, chosen = true, true
		}
		all = append(all, c)
	}
	return all
}

// Bar is an interval as a small picture, on one scale for the whole page.
func (p *page) Bar(c *contrast) template.HTML { return p.bars.draw(c) }

// Commands are what was run for a workload at one level, in order, and what was
// run instead in environments with parameters of their own.
func (p *page) Commands(w workloadView, l levelView) []fact {
	usual := commands(&w.Workload, l.Level)
	all := usual
	for _, e := range p.Environments {
		own := l.Level
		own.Parameters = e.Parameters(w.Name, own)
		for i, command := range commands(&w.Workload, own) {
			if command != usual[i] {
				command.Name += " in " + e.Shown
				all = append(all, command)
			}
		}
	}
	return all
}

// traceRow is one trial with all that leads to what it was taken from.
type traceRow struct {
	rundir.Trial
	Shown    string
	Anchor   string // of the command
	Headline string // the primary figures
}

// Trace is every trial in the order of the journal.
func (p *page) Trace() []traceRow {
	type primary struct{ name, unit string }
	anchors := map[[2]string]string{}
	primaries := map[string][]primary{}
	for _, w := range p.Workloads {
		for _, l := range w.Levels {
			anchors[[2]string{w.Name, l.Name}] = fmt.Sprintf("c%d-%d", w.Index, l.Index)
		}
		for _, m := range w.metrics() {
			if m.Primary {
				primaries[w.Name] = append(primaries[w.Name], primary{m.Name, m.Unit})
			}
		}
	}
	rows := make([]traceRow, 0, len(p.Trials))
	for _, t := range p.Trials {
		row := traceRow{Trial: t, Shown: p.shown(t.Environment), Anchor: anchors[[2]string{t.Workload, t.Level}]}
		var figures []string
		for _, m := range primaries[t.Workload] {
			if x, ok := t.Metrics[m.name]; ok {
				figures = append(figures, figure(x, m.unit))
			} else if why := t.Missing[m.name]; why != "" {
				figures = append(figures, missing+" ("+why+")")
			}
		}
		row.Headline = strings.Join(figures, "; ")
		rows = append(rows, row)
	}
	return rows
}

// Spoilers is what doctor found that may spoil measurements.
func (p *page) Spoilers() []environment.Finding { return p.Manifest.Noise }

// Mendable are the findings of an environment that need something.
func (p *page) Mendable(e environmentView) []environment.Finding { return mendable(e.Facts.Findings) }

// OptionsOf an environment, in words.
func (p *page) OptionsOf(e environmentView) string { return optionsOf(e) }

// Outliers is the share of blocks far from the rest.
func (p *page) Outliers(c *contrast) string {
	return fmt.Sprintf("%.0f%%", 100*c.OutlierShare)
}

// typeset puts a real minus before figures; a hyphen within a name stays.
func typeset(text string) string { return minus.ReplaceAllString(text, "$1−$2") }

var minus = regexp.MustCompile(`(^|[ \[])-([0-9])`)
