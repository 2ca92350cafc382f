package model_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// loud makes the machine of a run twice as slow in every second block.
func loud(in *model.Input) {
	for i := range in.Trials {
		seconds := .1 * float64(1+in.Trials[i].Block%2)
		in.Trials[i].Pressure = &rundir.Pressure{CanarySeconds: &seconds}
	}
}

func TestTheNextCommandSuitsTheStateOfTheRun(t *testing.T) {
	run := []string{"bin/tare", "run", "quick", "--budget", "1m", "--only=docker", "--seed=3"}
	verdicts := func(of verdict.Verdict, projection int, workloads ...string) func(*model.Input) {
		return func(in *model.Input) {
			for i := range in.Contrasts {
				if c := &in.Contrasts[i]; c.Primary && c.N > 0 && (len(workloads) == 0 || slices.Contains(workloads, c.Workload)) {
					c.Verdict, c.Projection, c.Leaning = of, projection, ""
				}
			}
		}
	}
	all := func(changes ...func(*model.Input)) func(*model.Input) {
		return func(in *model.Input) {
			for _, change := range changes {
				change(in)
			}
		}
	}
	const explain = "tare explain --of quick-20261121-014500 --budget 5m"
	for _, c := range []struct {
		state, want string
		change      func(*model.Input)
	}{
		{"it did not end", "tare run --resume quick-20261121-014500", func(in *model.Input) { in.Manifest.Sessions[0].Ended = time.Time{} }},
		{"something else differs", "tare parity quick-20261121-014500", func(in *model.Input) { in.Contrasts[0].Warnings = []verdict.Warning{{Code: verdict.Confound}} }},
		{"something else differs from an emulated guest alone", explain, all(verdicts(verdict.Slower, 0), func(in *model.Input) {
			for i := range in.Contrasts {
				if c := &in.Contrasts[i]; c.Environment == "vm" {
					c.Warnings = []verdict.Warning{{Code: verdict.Confound}}
				}
			}
		})},
		{"all is open", "tare run quick --only=docker --blocks 40", verdicts(verdict.Inconclusive, 40)},
		{"a service is open", "tare run quick --only=docker --blocks 40", all(verdicts(verdict.Slower, 0), verdicts(verdict.Inconclusive, 40, "redis"))},
		{"other work is open", explain, all(verdicts(verdict.Slower, 0), verdicts(verdict.Inconclusive, 40, "syscalls"))},
		{"other work is open, and the difference explained", "tare run quick --only=docker --blocks 40", all(verdicts(verdict.Equivalent, 0), verdicts(verdict.Slower, 0, "redis"), verdicts(verdict.Inconclusive, 40, "syscalls"),
			func(in *model.Input) {
				for _, name := range []string{"docker", "gvisor"} {
					in.Explained = append(in.Explained, model.Explained{Run: "explain-1", Workload: "redis", Environment: name})
				}
			})},
		{"a loud machine left things open", "tare rerun quick-20261121-014500", all(verdicts(verdict.Inconclusive, 40), loud)},
		{"a loud machine decided all", "tare report quick-20261121-014500", all(verdicts(verdict.Equivalent, 0), loud)},
		{"a service is open in an emulated guest alone", explain, all(verdicts(verdict.Slower, 0), func(in *model.Input) {
			for i := range in.Contrasts {
				if c := &in.Contrasts[i]; c.Environment == "vm" && c.Workload == "redis" {
					c.Verdict, c.N = verdict.None, 2
				}
			}
		})},
		{"all is open, far away", "tare doctor", verdicts(verdict.Inconclusive, 400)},
		{"all is slower", explain, verdicts(verdict.Slower, 0)},
		{"all is equivalent", "tare report quick-20261121-014500", verdicts(verdict.Equivalent, 0)},
		{"it was imported", "", func(in *model.Input) { in.Manifest.Import = &rundir.Import{} }},
	} {
		in := reporttest.Quick()
		in.Manifest.Command = run
		c.change(&in)
		if next := model.New(in).Answer().Next; next.Command != c.want {
			t.Errorf("%s: the next command is %q, want %q", c.state, next.Command, c.want)
		}
	}
}

func TestMachinesAreCountedByTheCPUTimeOfServices(t *testing.T) {
	for _, l := range model.New(reporttest.Quick()).Answer().Layers {
		want := map[string]string{"docker": "redis from ", "gvisor": "redis from ", "vm": ""}[l.Name]
		if !strings.Contains(l.CPU, want) || want == "" && l.CPU != "" {
			t.Errorf("%s: %q", l.Name, l.CPU)
		}
	}
}

func TestTheMachineIsCalmOrNoisy(t *testing.T) {
	for varied, want := range map[float64]string{.02: "calm: its speed varied by 2%", .4: "noisy (the intervals have it in them): its speed varied by 40%"} {
		in := reporttest.Quick()
		in.Manifest.Noise = nil
		for i := range in.Trials {
			t := &in.Trials[i]
			seconds := .1 * (1 + varied*float64(t.Block%2))
			t.Pressure = &rundir.Pressure{CanarySeconds: &seconds}
		}
		if got := model.New(in).Answer().Health; !strings.Contains(got, want) {
			t.Errorf("%s", got)
		}
	}
}

func TestTheLoadSaysWhereItComesFrom(t *testing.T) {
	for place, want := range map[string]string{
		"":                  "redis driven from inside the server's instance, over its loopback: ",
		workload.OnHost:     "redis driven from the host, over ",
		workload.Apart:      "redis driven from a second instance of the same environment, ",
		workload.InBaseline: "redis driven from an instance of the baseline, ",
	} {
		in := reporttest.Quick()
		for i := range in.Plan.Workloads {
			w := &in.Plan.Workloads[i]
			if w.Name != "redis" {
				w.Pack.Servers = nil
				continue
			}
			w.Pack.Roles, w.Pack.ClosedLoop = map[string]workload.Role{"driver": {Place: place}}, true
			w.Pack.Servers[0].Role, w.Pack.Driver.Role = "server", "driver"
		}
		in.Plan.Pin = map[string][]int{"server": {0}, "driver": {0}}
		got := model.New(in).Answer().Load
		if means := "throughput has the driver's work in it; as fast as they are answered: latency is not that at your rate"; !strings.HasPrefix(got, want) || !strings.HasSuffix(got, means) {
			t.Errorf("with the driver at %q: %q, want %q and %q", place, got, want, means)
		}
	}
}

func TestTheReasonOfAMissingVerdictIsThatOfItsOwnComparisons(t *testing.T) {
	in, n := reporttest.Quick(), 0
	for i := range in.Contrasts {
		c := &in.Contrasts[i]
		if c.Environment != "gvisor" || !c.Primary {
			continue
		}
		switch n++; n {
		case 1:
			c.Withhold([]string{"direct I/O in the sandbox"})
		case 2:
			c.Verdict, c.N = verdict.None, 2
		}
		c.Warnings = append(c.Warnings, verdict.Warning{Code: verdict.Confound})
	}
	layer := layerOf(in, "gvisor")
	for g, want := range map[model.Grade]string{model.Without: "† direct I/O in the sandbox: ", model.Undecided: " (n=2 of at least 4)"} {
		if !strings.Contains(strings.Join(layer.Lines[g], "\n"), want) {
			t.Errorf("%s: there is no %q in: %q", g, want, layer.Lines[g])
		}
	}
}

func layerOf(in model.Input, name string) model.Layer {
	all := model.New(in).Answer().Layers
	return all[slices.IndexFunc(all, func(l model.Layer) bool { return l.Name == name })]
}

// What a reader can do with a change follows from its verdict, its interval, its confounds and
// the machine.
func TestWhatCanBeActedOnFollowsFromVerdictIntervalConfoundsAndMachine(t *testing.T) {
	decided := func(estimate, low, high float64) func(*verdict.Contrast) {
		return func(c *verdict.Contrast) {
			c.Verdict, c.Leaning, c.Estimate, c.Low, c.High = verdict.Slower, "", math.Log1p(estimate), math.Log1p(low), math.Log1p(high)
		}
	}
	for _, c := range []struct {
		state string
		loud  bool
		cpu   string
		is    func(*verdict.Contrast)
		want  model.Grade
	}{
		{"an interval narrower than the change", false, "", decided(.25, .2, .3), model.Safe},
		{"one as wide as the change, within the margin", false, "", decided(.01, .001, .019), model.Safe},
		{"a wider one", false, "", decided(.25, .05, .5), model.Direction},
		{"a narrow one on a loud machine", true, "", decided(.25, .2, .3), model.Direction},
		{"equivalent on a loud machine", true, "", func(c *verdict.Contrast) { c.Verdict, c.Leaning = verdict.Equivalent, "" }, model.Safe},
		{"an emulated processor", false, "QEMU TCG CPU version 2.5+", decided(.25, .2, .3), model.Direction},
		{"a confound", false, "", func(c *verdict.Contrast) {
			decided(.25, .2, .3)(c)
			c.Warnings = []verdict.Warning{{Code: verdict.Confound}}
		}, model.Unfair},
		{"no verdict yet", false, "", func(c *verdict.Contrast) { c.Verdict, c.Projection = verdict.Inconclusive, 40 }, model.Undecided},
		{"too few blocks", false, "", func(c *verdict.Contrast) { c.Verdict, c.N = verdict.None, 2 }, model.Undecided},
		{"a meaningless comparison", false, "", func(c *verdict.Contrast) { c.Withhold([]string{"direct I/O"}) }, model.Without},
	} {
		in := reporttest.Quick()
		for i := range in.Contrasts {
			if one := &in.Contrasts[i]; one.Environment == "docker" && one.Metric == "calls" {
				c.is(one)
			}
		}
		in.Manifest.Machine.CPU = c.cpu
		if c.loud {
			loud(&in)
		}
		layer := layerOf(in, "docker")
		for g, lines := range layer.Lines {
			if is := strings.Contains(strings.Join(lines, "\n"), "syscalls"); is != (g == c.want) {
				t.Errorf("%s: syscalls below %q is %t: %q", c.state, g, is, lines)
			}
		}
	}
}

// A service stands where the surest of its metrics does, and the others say what they are.
func TestWhatIsLessSureThanItsServiceSaysSo(t *testing.T) {
	in := reporttest.Quick()
	for i := range in.Contrasts {
		if c := &in.Contrasts[i]; c.Environment == "docker" && c.Workload == "redis" && c.Metric == "set" {
			c.Verdict, c.Projection = verdict.Inconclusive, 40
		}
	}
	answer := model.New(in).Answer()
	if text := strings.Join(answer.Layers[0].Lines[model.Safe], "\n"); !strings.Contains(text, "redis (n=12): get slower from ") || !strings.Contains(text, "(undecided, ~40 blocks)") {
		t.Errorf("%q", text)
	}
	if !slices.ContainsFunc(answer.Terms, func(term model.Term) bool { return term.Name == "undecided" }) {
		t.Errorf("the word is not explained: %+v", answer.Terms)
	}
}

func TestTheNumberOfBlocksSaysWhyItIsLessThanThatOfTheRun(t *testing.T) {
	for want, lacks := range map[string]func(rundir.Trial) bool{
		"of 12: failed trials have none. ":                    func(rundir.Trial) bool { return false },
		"of 12: block 12 ended in the middle; ":               func(t rundir.Trial) bool { return t.Block == 12 && t.Workload == "fio-randread" },
		"of 12: what is decided leaves early; failed":         func(t rundir.Trial) bool { return t.Block > 8 && t.Workload == "syscalls" },
		"; failed trials have none; some waited for others. ": func(t rundir.Trial) bool { return t.Block == 3 && t.Workload == "fio-randread" },
	} {
		in := reporttest.Quick()
		in.Trials = slices.DeleteFunc(in.Trials, lacks)
		in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
		terms := model.New(in).Answer().Terms
		if i := slices.IndexFunc(terms, func(term model.Term) bool { return term.Name == "n" }); i < 0 || !strings.Contains(terms[i].Means, want) {
			t.Errorf("there is no %q in %+v", want, terms)
		}
	}
}
