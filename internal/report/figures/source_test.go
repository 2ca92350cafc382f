package figures

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"tare/internal/papers/published"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
	"tare/internal/usage"
)

// printed are figures that a run of quick is drawn like.
const printed = `
study: paper
source: {title: A paper, kind: paper}
environments:
  - {id: native, name: Native, kind: native}
  - {id: docker, name: Container, kind: docker}
tables:
  - {id: get, place: Table 1, metric: GET, unit: op/s, better: higher, measures: {workload: redis, metric: get}, cells: {native: 1, docker: 2}}
claims:
  - {id: one, place: section 1, says: something, check: {unchecked: no}}
figures:
  - {place: Figure 7, shows: GET by clients, panels: [{draw: curves, table: get, over: clients}]}
  - {place: Figure 3, shows: GET, panels: [{draw: bars, table: get}, {draw: bars, title: cores, measures: {workload: nothing, metric: none}}]}
  - {place: Figure 4, shows: CPU over time, panels: [{draw: time, table: get, quantity: cpu}]}
  - {place: Figure 5, shows: a machine, gap: a photograph}
  - {place: Figure 8, shows: users over time, panels: [{draw: time, table: get, quantity: users}]}
  - {place: Figure 9, shows: writes over time, panels: [{draw: time, table: get, quantity: disk_written}]}
`

func drawn(t *testing.T) *model.Report {
	s, err := published.Parse("paper.yaml", []byte(printed))
	if err != nil {
		t.Fatal(err)
	}
	in := reporttest.Quick()
	for i := range in.Trials {
		one := &in.Trials[i]
		one.HostSeconds = 2
		if one.Environment == "docker" { // of which the samples alternate
			for round := range 3 {
				more := float64(round)
				one.Rounds = append(one.Rounds, rundir.Round{Number: round + 1, HostSeconds: 2, Series: map[string][]rundir.Point{
					"users": {{Second: 0, Value: 1 + more}, {Second: 1, Value: 5 + more}},
				}})
			}
			one.HostSeconds = 6
		}
	}
	in.Readings = func(trial rundir.Trial) ([]rundir.InstanceSeries, error) {
		one := &usage.Series{}
		for n, second := range []float64{0, 5, 6, 7} { // a wait before the sample
			one.Add(&usage.Reading{Seconds: second, CPU: usage.Known([]float64{0, 50, 50.5, 51.5}[n]), DiskWritten: usage.Absent("cgroup v1 does not charge written pages to a group")})
		}
		return []rundir.InstanceSeries{{Instance: "a", Series: one}}, nil
	}
	in.Figures = model.FiguresOf(s, in)
	return model.New(in)
}

func TestTheFiguresOfASourceAreDrawnInItsOrderWithItsNumbers(t *testing.T) {
	v := drawn(t)
	files, err := SVG(v)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
	}
	if want := []string{"figures/paper-Figure-7.svg", "figures/paper-Figure-3.svg", "figures/paper-Figure-4.svg", "figures/paper-Figure-8.svg"}; !slices.Equal(names, want) {
		t.Fatalf("drawn are %q, want %q", names, want)
	}
	bars := strings.Join(texts(t, files[1].Data), "\n")
	for _, want := range []string{"Figure 3: GET", "mean ± SD", "tare's value", "native", "docker (Container)", "cores", "not measured in this run"} {
		if !strings.Contains(bars, want) {
			t.Errorf("the bars do not say %q:\n%s", want, bars)
		}
	}
	if missing := v.Figures.Missing(); !slices.Contains(missing, "Figure 5 (a machine): a photograph") {
		t.Errorf("what is not drawn: %q", missing)
	}
	pdf, err := PDF(v)
	if err != nil || len(pdf) != 4 || !bytes.HasPrefix(pdf[0].Data, []byte("%PDF")) {
		t.Errorf("PDF: %d files, %v", len(pdf), err)
	}
}

func TestWhatIsUsedOverTimeLeavesOutTheWaitsAndFollowsTheLevels(t *testing.T) {
	f := drawn(t).Figures.Figures[2]
	panel := f.Panels[0]
	if len(panel.Lines) != 2 || len(panel.X) != len(panel.At)+1 {
		t.Fatalf("%d lines over %d levels that begin at %v", len(panel.Lines), len(panel.At), panel.X)
	}
	for _, line := range panel.Lines {
		for i, p := range line.Points {
			if want := []float64{50, 100}[i%2]; p.Mean != want { // percent of a core
				t.Errorf("%s at %v s of %s: %v%%, want %v%%", line.Name, p.X, panel.At[p.At], p.Mean, want)
			}
		}
		if n := len(line.Points); n < 2 || line.Points[n-1].X < panel.X[len(panel.X)-2] {
			t.Errorf("%s has %d points, the last before the last level", line.Name, n)
		}
	}
}

func TestAFigureOverTimeIsOfOneSampleWhereTheDriverPrintedIt(t *testing.T) {
	v := drawn(t)
	panel := v.Figures.Figures[4].Panels[0]
	if !panel.OneSample || len(panel.Lines) != 1 || panel.Lines[0].Environment != "docker" {
		t.Fatalf("%+v", panel)
	}
	for i, length := range panel.X[1:] {
		if length -= panel.X[i]; length != 2 {
			t.Errorf("level %s takes %v s, and a sample 2 s", panel.At[i], length)
		}
	}
	for i, p := range panel.Lines[0].Points {
		if want := []float64{2, 6}[i%2]; p.Mean != want || math.Mod(p.X, 2) != []float64{.5, 1.5}[i%2] {
			t.Errorf("at %v s: %v users, want %v, the median of three samples", p.X, p.Mean, want)
		}
	}
	if files, err := SVG(v); err != nil || !slices.Contains(texts(t, files[3].Data), "seconds of a sample, one level after the other") {
		t.Errorf("the axis does not say of what it is: %v", err)
	}
}

func TestAFigureOverTimeWithoutValuesSaysWhy(t *testing.T) {
	missing := strings.Join(drawn(t).Figures.Missing(), "\n")
	if want := "Figure 9 (writes over time): cgroup v1 does not charge written pages to a group"; !strings.Contains(missing, want) {
		t.Errorf("not drawn:\n%s\nwant %s", missing, want)
	}
	s, err := published.Parse("paper.yaml", []byte(printed))
	if err != nil {
		t.Fatal(err)
	}
	in := reporttest.Quick()
	in.Readings = nil
	none := strings.Join(model.FiguresOf(s, in).Missing(), "\n")
	for _, want := range []string{"Figure 4 (CPU over time): the run kept no readings of what its instances used", "Figure 8 (users over time): the run has no users over time: the driver printed fewer than two values"} {
		if !strings.Contains(none, want) {
			t.Errorf("not drawn:\n%s\nwant %s", none, want)
		}
	}
}

func TestTitlesOfTheFiguresOfAllSourcesAreShownWhole(t *testing.T) {
	for _, name := range published.Names() {
		s, err := published.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range s.Figures {
			p := source(&model.Report{}, model.SourceFigure{Study: name, Place: f.Place, Shows: f.Shows}, true)
			var words []string
			for _, line := range p.shapes {
				words = append(words, line.text)
			}
			if got, want := strings.Join(words, " "), f.Place+": "+f.Shows; got != want {
				t.Errorf("%s has the title %q, want %q", name, got, want)
			}
		}
	}
}
