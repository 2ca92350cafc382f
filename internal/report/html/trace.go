package html

import (
	"fmt"
	"iter"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/subject"
)

// traceRow is one trial with its command and output files.
type traceRow struct {
	Trial    *rundir.Trial
	Number   int // from 1
	Shown    string
	Anchor   string // of the command
	Headline string // the primary figures
}

// Trace is every trial in the order of the journal. A run can have very many: there is
// one row at a time.
func (p *page) Trace() iter.Seq[traceRow] {
	type primary struct{ name, unit string }
	anchors := map[subject.Place]string{}
	primaries := map[string][]primary{}
	for _, w := range p.Workloads {
		for _, l := range w.Levels {
			anchors[l.Place(w)] = fmt.Sprintf("c%d-%d", w.Index, l.Index)
		}
		for _, m := range w.AllMetrics() {
			if m.Primary {
				primaries[w.Name] = append(primaries[w.Name], primary{m.Name, m.Unit})
			}
		}
	}
	return func(yield func(traceRow) bool) {
		for i := range p.Trials {
			t := &p.Trials[i]
			row := traceRow{Trial: t, Number: i + 1, Shown: p.ShownName(t.Environment), Anchor: anchors[t.Cell().Place()]}
			var figures []string
			for _, m := range primaries[t.Workload] {
				if x, ok := t.Metrics[m.name]; ok {
					figures = append(figures, model.Figure(x, m.unit))
				} else if why := t.Missing[m.name]; why != "" {
					figures = append(figures, model.Missing+" ("+why+")")
				}
			}
			row.Headline = strings.Join(figures, "; ")
			if !yield(row) {
				return
			}
		}
	}
}

// readable are the endings of raw files that browsers show as text.
var readable = []string{"", ".output", ".stdout", ".stderr", ".out", ".err", ".txt", ".log", ".csv", ".tsv", ".jtl", ".json", ".jsonl", ".yaml", ".yml"}

// Link leads to a file with raw output where the run has it.
func (p *page) Link(name string) string {
	if p.LacksRaw {
		return ""
	}
	return rawLink(name)
}

// rawLink leads from the run directory to a file with raw output; "" for what has no
// link. A path is the run's own word, and the run can be anybody's: the link leads
// nowhere else, and to no file whose ending makes a browser run what is in it.
func rawLink(name string) string {
	ending := path.Ext(name)
	if number := strings.TrimLeft(ending, ".0123456789"); number == "" && ending != "." {
		ending = path.Ext(strings.TrimSuffix(name, ending)) // a further attempt: driver.stdout.2
	}
	parts := strings.Split(name, "/")
	if len(parts) < 2 || parts[0] != rundir.RawDirectory || !filepath.IsLocal(name) || path.Clean(name) != name || !slices.Contains(readable, strings.ToLower(ending)) ||
		strings.ContainsFunc(name, func(r rune) bool { return r == '\\' || unicode.IsControl(r) }) {
		return ""
	}
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}
