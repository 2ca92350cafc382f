package main

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tare/internal/base/lists"
	papers "tare/internal/papers/published"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/usage"
	"tare/internal/verdict"
)

// measuredInFull is a run of a study in which every environment has twice the baseline's
// value of every metric at every level.
func measuredInFull(t *testing.T, name string) model.Input {
	plan, err := study.Open(name, study.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	in := model.Input{Plan: plan}
	for _, e := range plan.Environments {
		for _, w := range plan.Workloads {
			for _, l := range w.Levels {
				for _, m := range w.Pack.Metrics {
					if e.Name != plan.Baseline {
						in.Contrasts = append(in.Contrasts, verdict.Contrast{Workload: w.Name, Level: l.Name, Metric: m.Name, Better: m.Better,
							Environment: e.Name, Baseline: plan.Baseline, N: 8, Values: verdict.Side{Median: 2}, Base: verdict.Side{Median: 1}})
					}
				}
			}
		}
	}
	return in
}

// uses reports whether a study has a workload that measures a table.
func uses(plan *study.Plan, t papers.Table) bool {
	return slices.ContainsFunc(t.Measures, func(m papers.Counterpart) bool {
		return slices.ContainsFunc(plan.Workloads, func(w study.Workload) bool { return w.Name == m.Workload || w.Pack.Name == m.Workload })
	})
}

// base is the environment that stands for the run's baseline.
func base(source *papers.Study, against *model.Against) string {
	i := slices.IndexFunc(source.Environments, func(e papers.Environment) bool { return e.Name == against.Baseline })
	return source.Environments[max(i, 0)].ID
}

func TestEveryPrintedTableHasACounterpartInABuiltInStudyOrAReasonWhyNot(t *testing.T) {
	repeated := map[string]bool{}
	for _, name := range papers.Names() {
		source, err := papers.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		covered := map[string]bool{}
		for _, again := range source.Studies {
			repeated[again.Study] = true
			in := measuredInFull(t, again.Study)
			against := model.ComparePublished(source, in)
			for _, row := range against.Rows {
				covered[row.Table] = true
			}
			if again.Gap != "" {
				continue
			}
			if against.Baseline == "" {
				t.Errorf("%s: its baseline %s is none of %s", again.Study, in.Plan.Baseline, name)
			}
			for i := range source.Tables {
				printed := &source.Tables[i]
				if printed.Gap != "" || !uses(in.Plan, *printed) {
					continue
				}
				for _, ratio := range source.RatiosOf(printed, base(source, against)) {
					found := lists.Filter(against.Rows, func(r model.AgainstRow) bool {
						return r.Table == printed.ID && r.Name == ratio.Environment.Name && math.Abs(r.Published-math.Log(ratio.Value)) < 1e-12
					})
					if len(found) == 0 && ratio.Environment.Gap == "" {
						t.Errorf("%s: table %s of %s at %s is not compared", again.Study, printed.ID, ratio.Environment.Name, ratio.Level)
					}
				}
			}
		}
		for _, printed := range source.Tables {
			if covered[printed.ID] == (printed.Gap != "") {
				t.Errorf("%s, table %s: compared with a run: %v, and the reason why not: %q", name, printed.ID, covered[printed.ID], printed.Gap)
			}
		}
	}
	for _, name := range study.Names() {
		for _, source := range papers.Names() {
			if strings.HasPrefix(name, source) && !repeated[name] {
				t.Errorf("%s is none of the studies that %s says repeat it", name, source)
			}
		}
	}
}

// ranInFull adds a trial with every metric, reading and series of each environment at each level.
func ranInFull(t *testing.T, name string) model.Input {
	in := measuredInFull(t, name)
	for _, w := range in.Plan.Workloads {
		for _, l := range w.Levels {
			for _, e := range in.Plan.Environments {
				trial := rundir.Trial{Block: 1, Environment: e.Name, Workload: w.Name, Level: l.Name, Status: rundir.OK, HostSeconds: 1, Metrics: map[string]float64{}}
				for _, m := range w.Pack.Metrics {
					trial.Metrics[m.Name] = 1
				}
				if w.Pack.Name == "wordpress-jmeter" {
					series := map[string][]rundir.Point{}
					for _, name := range []string{"users", "response_time", "requests_per_second"} {
						series[name] = []rundir.Point{{Second: 0, Value: 1}, {Second: 1, Value: 2}}
					}
					if trial.Series = series; in.Plan.Design.Order == study.Alternating {
						trial.Series, trial.Rounds = nil, []rundir.Round{{Number: 1, HostSeconds: 1, Series: series}}
					}
				}
				in.Trials = append(in.Trials, trial)
			}
		}
	}
	in.Readings = func(rundir.Trial) ([]rundir.InstanceSeries, error) {
		var s usage.Series
		for n := range 2 {
			r := usage.Reading{Seconds: float64(n)}
			r.CPU, r.Memory, r.DiskRead, r.DiskWritten = usage.Known(1), usage.Known(1), usage.Known(1), usage.Known(1)
			s.Add(&r)
		}
		return []rundir.InstanceSeries{{Series: &s}}, nil
	}
	return in
}

func TestEveryFigureOfASourceIsDrawnFromItsStudyOrSaysWhyNot(t *testing.T) {
	for _, name := range papers.Names() {
		source, err := papers.Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(source.Figures) == 0 {
			t.Errorf("%s has no figures", name)
		}
		figures := model.FiguresOf(source, ranInFull(t, source.Studies[0].Study))
		for i, f := range figures.Figures {
			if gap := source.Figures[i].Gap; gap != "" {
				continue
			}
			if len(f.Panels) == 0 {
				t.Errorf("%s, %s: %s", name, f.Place, f.Why)
			}
			for _, p := range f.Panels {
				if p.Why != "" {
					t.Errorf("%s, %s, %s: %s", name, f.Place, p.Title, p.Why)
				}
			}
		}
	}
}

func TestWhatIsPrintedAsAPartOfAnotherIsNotHeldAgainstOtherLevels(t *testing.T) {
	source, err := papers.Builtin("cassandra-scaling")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range model.Claims(source, ranInFull(t, "cassandra-scaling")) {
		if reason := c.Findings[0].Reason; c.ID == "cpu-read-most" && !strings.Contains(reason, "a part of that of VMware") {
			t.Errorf("%s: %s", c.Outcome, reason)
		}
	}
}

func TestOfSeveralRunsTheOneWithTheMostLevelsIsDrawn(t *testing.T) {
	source, err := papers.Builtin("karna-2021")
	if err != nil {
		t.Fatal(err)
	}
	all := ranInFull(t, "karna-2021")
	few, plan := all, *all.Plan
	plan.Workloads = slices.Clone(plan.Workloads)
	for i, w := range plan.Workloads {
		plan.Workloads[i].Levels = w.Levels[:1]
	}
	few.Plan = &plan
	for _, f := range model.FiguresOf(source, few, all).Figures {
		if f.Place == "Figure 11" && len(f.Panels[0].At) != 7 {
			t.Errorf("%s is drawn over %v", f.Place, f.Panels[0].At)
		}
	}
}

func TestWhatDiffersFromThePrintedTechnologyIsSaidBesideEachRatio(t *testing.T) {
	for _, test := range []struct{ study, source, table, environment, want string }{
		{"caiola-2025", "caiola-2025", "hpl", "docker", "Virtual machine printed on virtualbox, measured on qemu"},
		{"cassandra-scaling", "cassandra-scaling", "tps", "vm", "printed on vsphere, measured on qemu"},
		{"aspernas-nensen-2016", "aspernas-nensen-2016", "select", "docker-in-vm", "printed inside vsphere, measured inside qemu"},
		{"heino-2025", "heino-2025", "nginx-requests", "docker-hostnet", ""},
		{"heino-2025", "heino-2025", "mysql-transactions", "docker", "printed with network: publish-loopback, measured with network: bridge"},
		{"heino-2025-mysql", "heino-2025", "mysql-transactions", "docker", ""},
		{"karna-2021", "karna-2021", "cpu", "kvm", ""},
	} {
		source, err := papers.Builtin(test.source)
		if err != nil {
			t.Fatal(err)
		}
		rows := model.ComparePublished(source, measuredInFull(t, test.study)).Rows
		i := slices.IndexFunc(rows, func(r model.AgainstRow) bool { return r.Table == test.table && r.Environment == test.environment })
		if i < 0 {
			t.Errorf("%s: %s is not compared in %s: %+v", test.study, test.table, test.environment, rows)
		} else if rows[i].Differs != test.want {
			t.Errorf("%s, %s in %s: %q, want %q", test.study, test.table, test.environment, rows[i].Differs, test.want)
		}
	}
}

func TestOfSeveralLevelsIsTakenWhatThePublicationPrints(t *testing.T) {
	const text = `study: x
source: {title: T, kind: report}
environments: [{id: native, name: N, kind: native}, {id: docker, name: D, kind: docker}]
tables: [{id: x, place: here, metric: rate, unit: op/s, better: higher, measures: {workload: redis, metric: get_rps, take: TAKE}, cells: {native: 4, docker: 2}}]
claims: []
`
	plan, err := study.Resolve(&study.File{Name: "x", Source: []byte("study: x\nbaseline: native\nenvironments: {native: {}, docker: {}}\nworkloads: [{use: redis, clients: [1, 2]}]\n")}, study.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	at := func(level string, value, base float64) verdict.Contrast {
		return verdict.Contrast{Workload: "redis", Level: level, Metric: "get_rps", Better: "higher", Environment: "docker", N: 8, Values: verdict.Side{Median: value}, Base: verdict.Side{Median: base}}
	}
	in := model.Input{Plan: plan, Contrasts: []verdict.Contrast{at("clients=1", 10, 40), at("clients=2", 30, 20)}}
	for take, want := range map[string]float64{"mean": 40. / 60, "best": 30. / 40, "worst": 10. / 20, "widest": 10. / 40} {
		source, err := papers.Parse("x.yaml", []byte(strings.ReplaceAll(text, "TAKE", take)))
		if err != nil {
			t.Fatal(err)
		}
		rows := model.ComparePublished(source, in).Rows
		if len(rows) != 1 || math.Abs(math.Exp(rows[0].Measured)-want) > 1e-9 || rows[0].Bounded || rows[0].Level != take+" of 2 levels" {
			t.Errorf("%s: %+v, want %v", take, rows, want)
		}
	}
}
