package bench

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// Summary is the result of a run of a command: the values of each environment,
// and how they compare.
type Summary struct {
	Command   string             `json:"command"`
	Results   []Result           `json:"results"`
	Contrasts []verdict.Contrast `json:"contrasts"`
	// Skipped are the environments that do not work here, with the reason.
	Skipped map[string]string `json:"skipped,omitempty"`

	// Remarks are about programs that are others inside than in the user's shell.
	Remarks []string `json:"remarks,omitempty"`

	figures   []workload.Metric // of --figure
	sentences []string
}

// Result holds the values of one environment: times in seconds, memory in bytes.
// The fields up to Times are those of hyperfine's JSON export; nil means that no
// run has a value.
type Result struct {
	Command     string    `json:"command"`
	Mean        *float64  `json:"mean"`
	Stddev      *float64  `json:"stddev"`
	Median      *float64  `json:"median"`
	User        *float64  `json:"user"`
	System      *float64  `json:"system"`
	Min         *float64  `json:"min"`
	Max         *float64  `json:"max"`
	Times       []float64 `json:"times"`
	Environment string    `json:"environment"`
	// Level and Parameters are those of a scan; the parameters are hyperfine's.
	Level      string            `json:"level,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"`
	Label      string            `json:"label,omitempty"`
	Failed     int               `json:"failed,omitempty"`
	Estimates  []Estimate        `json:"figures"`
}

// Estimate is the Hodges-Lehmann estimate of one metric in one environment, with
// its 95% interval. Low and High are nil below six runs, where no two-sided 95%
// interval exists.
type Estimate struct {
	Metric   string   `json:"metric"`
	Unit     string   `json:"unit"`
	N        int      `json:"n"`
	Estimate float64  `json:"estimate"`
	Low      *float64 `json:"low"`
	High     *float64 `json:"high"`
}

var metrics = []struct{ name, unit, title string }{
	{workload.WallSeconds, "s", "wall"}, {workload.UserSeconds, "s", "user"},
	{workload.SystemSeconds, "s", "system"}, {workload.MaxRSS, "B", "peak memory"},
}

// Summarize returns the summary of a run that Options.Plan planned.
// The remarks are repeated.
func Summarize(r *run.Result, remarks ...string) Summary {
	s := Summary{Command: r.Run.Plan.Study, Contrasts: r.Contrasts, Skipped: map[string]string{}, Remarks: remarks}
	levels := []study.Level{{}}
	if w := r.Run.Plan.Workload(packName); w != nil {
		s.figures, levels = figuresOf(w.Pack), w.Levels
	}
	for _, e := range r.Run.Plan.Environments {
		if facts := r.Run.Manifest.Environments[e.Name]; facts.State == environment.Missing {
			s.Skipped[e.Name] = run.Why(facts)
			s.sentences = append(s.sentences, fmt.Sprintf("%s was skipped: it %s", e.Name, run.Why(facts)))
			continue
		}
		for _, l := range levels {
			values, failed := map[string][]float64{}, 0
			for _, t := range r.Run.Trials {
				if t.Environment != e.Name || t.Level != l.Name {
					continue
				}
				if t.Status == rundir.Failed {
					failed++
				}
				for name, v := range t.Metrics {
					values[name] = append(values[name], v)
				}
			}
			if len(values) == 0 && failed == 0 {
				continue
			}
			result := newResult(r, e, s.figures, values, failed)
			if l.Name != "" {
				result.Level, result.Parameters = l.Name, l.Parameters
			}
			s.Results = append(s.Results, result)
		}
	}
	for _, c := range r.Contrasts {
		if c.Primary {
			sentence := verdict.Wording(c)
			if len(s.figures) > 0 {
				sentence = c.Metric + ": " + sentence
			}
			if c.Level != "" {
				sentence = c.Level + ": " + sentence
			}
			s.sentences = append(s.sentences, sentence)
		}
	}
	s.sentences = append(s.sentences, remarks...)
	return s
}

func newResult(r *run.Result, e study.Environment, figures []workload.Metric, values map[string][]float64, failed int) Result {
	times := append([]float64{}, values[workload.WallSeconds]...)
	b := Result{
		Command: r.Run.Plan.Study, Environment: e.Name, Label: r.Run.Manifest.Environments[e.Name].Label,
		Times: times, Failed: failed,
		User: mean(values[workload.UserSeconds]), System: mean(values[workload.SystemSeconds]),
	}
	if len(times) > 0 {
		b.Mean, b.Median, b.Min, b.Max = mean(times), new(stats.Median(times)), new(slices.Min(times)), new(slices.Max(times))
	}
	if len(times) > 1 {
		b.Stddev = new(stat.StdDev(times, nil))
	}
	add := func(name, unit string) {
		if len(values[name]) > 0 {
			b.Estimates = append(b.Estimates, newEstimate(name, unit, values[name]))
		}
	}
	for _, m := range metrics {
		add(m.name, m.unit)
	}
	for _, m := range figures {
		add(m.Name, m.Unit)
	}
	return b
}

func mean(values []float64) *float64 {
	if len(values) == 0 {
		return nil
	}
	return new(stat.Mean(values, nil))
}

// newEstimate works on the log scale where all values are positive, like the
// contrasts of a study. The runs of an environment are those of successive blocks.
func newEstimate(name, unit string, values []float64) Estimate {
	transform, inverse := math.Log, math.Exp
	if slices.Min(values) <= 0 {
		identity := func(v float64) float64 { return v }
		transform, inverse = identity, identity
	}
	i := stats.Value(lists.Map(values, transform), 0.05)
	e := Estimate{Metric: name, Unit: unit, N: len(values), Estimate: inverse(i.Estimate)}
	if i.Bounded() {
		e.Low, e.High = new(inverse(i.Low)), new(inverse(i.High))
	}
	return e
}

// name is the environment's, with its label and the level.
func (r Result) name() string {
	name := r.Environment
	if r.Label != "" {
		name += " [" + r.Label + "]"
	}
	if r.Level != "" {
		name += " " + r.Level
	}
	return name
}
