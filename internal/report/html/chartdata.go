package html

import (
	"math"
	"strconv"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/verdict"
)

// chartData is what the page's script draws. Trials and contrasts refer to
// environments, workloads, levels and metrics by number.
type chartData struct {
	Baseline     int                `json:"baseline"`
	Unpaired     bool               `json:"unpaired,omitempty"` // imported, and no block pairs the trials
	Margin       number             `json:"margin"`
	Time         chartMetric        `json:"time"` // how phases are written
	Environments []chartEnvironment `json:"environments"`
	Workloads    []chartWorkload    `json:"workloads"`
	Contrasts    []chartContrast    `json:"contrasts"`
	// Trials are [block, environment, workload, level, [a value a metric]], in the order
	// of the page's list; a trial without a result has no values.
	Trials [][]any `json:"trials"`
	// Pairs are the differences that contrasts are estimated from, where these are not
	// the ratios of two trials, since samples alternated: of the metrics that are plotted.
	Pairs      []chartPairs  `json:"pairs,omitempty"`
	Phases     []chartPhase  `json:"phases"`
	PhaseNames []string      `json:"phaseNames"`
	Series     []chartSeries `json:"series,omitempty"`
}

type chartEnvironment struct {
	Name  string `json:"name"`
	Shown string `json:"shown"`
}

type chartWorkload struct {
	Name    string        `json:"name"`
	Levels  []string      `json:"levels"`
	Metrics []chartMetric `json:"metrics"`
	// Distributions have percentiles among the metrics.
	Distributions []model.Distribution `json:"distributions,omitempty"`
}

type chartMetric struct {
	Title  string `json:"title"`
	Unit   string `json:"unit"`
	Better string `json:"better"`
	// Scale suits the largest figure and Small the smallest; the axes' own
	// leave out the noun of a rate.
	Scale     model.Scale `json:"scale"`
	Small     model.Scale `json:"small"`
	Axis      model.Scale `json:"axis"`
	SmallAxis model.Scale `json:"smallAxis"`
}

type chartContrast struct {
	Workload    int    `json:"w"`
	Level       int    `json:"l"`
	Metric      int    `json:"m"`
	Environment int    `json:"e"`
	Estimate    number `json:"estimate"`
	Low         number `json:"low"`
	High        number `json:"high"`
	Verdict     string `json:"verdict"`
	N           int    `json:"n"`
}

type chartPairs struct {
	Workload    int         `json:"w"`
	Level       int         `json:"l"`
	Metric      int         `json:"m"`
	Environment int         `json:"e"`
	Blocks      [][2]number `json:"blocks"` // block, log ratio
}

type chartPhase struct {
	Environment int      `json:"e"`
	Parts       [][2]any `json:"parts"`
}

// number is a figure with the digits that a chart can show; null where it has
// no finite value.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	text := strconv.FormatFloat(float64(n), 'g', 6, 64)
	// Read back and written again, so that 1e+06 becomes what JSON calls a number.
	x, err := strconv.ParseFloat(text, 64)
	return strconv.AppendFloat(nil, x, 'g', -1, 64), err
}

// chartIndex holds the numbers by which the script knows environments, levels and
// metrics.
type chartIndex struct {
	environments map[string]int
	levels       map[subject.Place][2]int // the numbers of workload and level
	metrics      map[int][]string         // by workload
}

func newChartData(v *model.Report) chartData {
	d := chartData{Margin: number(v.Margin()), Trials: [][]any{}, Contrasts: []chartContrast{}, Phases: []chartPhase{}}
	d.Unpaired = v.Plan.Design.Order == verdict.OrderUnpaired
	index := chartIndex{map[string]int{}, map[subject.Place][2]int{}, map[int][]string{}}
	for _, e := range v.Environments {
		index.environments[e.Name] = e.Index
		if e.Baseline {
			d.Baseline = e.Index
		}
		d.Environments = append(d.Environments, chartEnvironment{e.Name, e.Shown})
	}
	for _, w := range v.Workloads {
		cw := chartWorkload{Name: w.Name, Distributions: v.Distributions(w)}
		for _, l := range w.Levels {
			index.levels[l.Place(w)] = [2]int{w.Index, l.Index}
			cw.Levels = append(cw.Levels, l.Name)
			d.Series = append(d.Series, seriesOf(v, w, l)...)
		}
		for _, m := range w.AllMetrics() {
			index.metrics[w.Index] = append(index.metrics[w.Index], m.Name)
			cw.Metrics = append(cw.Metrics, newChartMetric(m.Title(), m.Better, m.Unit, v.Ranges[model.RangeOf(w.Name, m.Name)]))
		}
		d.Workloads = append(d.Workloads, cw)
	}
	for i := range v.Contrasts {
		d.addContrast(&v.Contrasts[i], index)
	}
	for i := range v.Trials {
		d.addTrial(&v.Trials[i], index)
	}
	d.addPairs(v)
	d.addPhases(v)
	return d
}

func (d *chartData) addContrast(c *verdict.Contrast, index chartIndex) {
	at, ok := index.levels[c.Figure().Place()]
	if !ok || c.N == 0 {
		return
	}
	low, high := c.Low, c.High
	if c.RangeOnly() {
		low, high = c.Least, c.Most
	}
	for m, name := range index.metrics[at[0]] {
		if name == c.Metric {
			d.Contrasts = append(d.Contrasts, chartContrast{at[0], at[1], m, index.environments[c.Environment],
				number(c.Point()), number(low), number(high), model.VerdictWord(c), c.N})
		}
	}
}

func (d *chartData) addTrial(t *rundir.Trial, index chartIndex) {
	at, ok := index.levels[t.Cell().Place()]
	if !ok {
		d.Trials = append(d.Trials, []any{})
		return
	}
	row := []any{t.Block, index.environments[t.Environment], at[0], at[1]}
	if names := index.metrics[at[0]]; t.Status == rundir.OK {
		values := make([]any, len(names))
		for m, name := range names {
			if x, ok := model.Value(t, name); ok {
				values[m] = number(x)
			}
		}
		row = append(row, values)
	}
	d.Trials = append(d.Trials, row)
}

func (d *chartData) addPairs(v *model.Report) {
	if v.Plan.Design.Order != study.Alternating {
		return
	}
	for _, w := range v.Workloads {
		for _, l := range w.Levels {
			for _, m := range plotted(w) {
				ratios := v.BlockRatios(l.Place(w).Of(m.Name))
				for _, e := range v.Environments {
					pairs := chartPairs{w.Index, l.Index, m.Number, e.Index, nil}
					for _, r := range ratios[e.Name] {
						pairs.Blocks = append(pairs.Blocks, [2]number{number(r.Block), number(r.Log)})
					}
					if pairs.Blocks != nil {
						d.Pairs = append(d.Pairs, pairs)
					}
				}
			}
		}
	}
}

func (d *chartData) addPhases(v *model.Report) {
	longest := 0.0
	d.PhaseNames = v.PhaseNames()
	for _, s := range v.Phases {
		cp := chartPhase{Environment: s.Environment.Index}
		for _, part := range s.Parts {
			if part.Known {
				cp.Parts = append(cp.Parts, [2]any{part.Name, number(part.Seconds)})
			}
		}
		longest = math.Max(longest, s.Total)
		d.Phases = append(d.Phases, cp)
	}
	d.Time = newChartMetric("", "lower", "s", [2]float64{longest / 1000, longest})
}

func newChartMetric(title, better, unit string, span [2]float64) chartMetric {
	return chartMetric{Title: title, Unit: unit, Better: better,
		Scale: model.ScaleFor(span[1], unit), Small: model.ScaleFor(span[0], unit),
		Axis: model.ScaleFor(span[1], model.ShortUnit(unit)), SmallAxis: model.ScaleFor(span[0], model.ShortUnit(unit))}
}
