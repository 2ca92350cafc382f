package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

// Step is a command, and what it is for.
type Step struct{ Command, Does string }

// mostBlocks is the largest number of blocks that next proposes: where it takes more, a
// quieter machine saves more time.
const mostBlocks = 100

// next is the one command to go on with: it finishes the run, repeats it where the machine was
// too loud to decide, removes what makes its comparisons unfair, decides what is open of a
// service, says where its difference comes from, or decides the rest. An import has none.
func (d *decision) next() Step {
	if d.Manifest.Import != nil {
		return Step{}
	}
	name := commandLine([]string{d.Manifest.Run})
	if state, _ := d.Manifest.State(); state == rundir.Interrupted || state == rundir.NotEnded {
		command := "run"
		if len(d.Plan.Steps) > 0 {
			command = "explain"
		}
		return Step{"tare " + command + " --resume " + name, "the rest of the run; what was measured is kept"}
	}
	if len(d.Contrasts) == 0 && len(d.Skipped) > 0 {
		return Step{"tare", "the one command that adds environments, so that there is something to compare"}
	}
	var undecided []placed
	for _, u := range d.used {
		undecided = append(undecided, lists.Filter(u.primary(), func(c placed) bool { return open(c.Contrast) })...)
	}
	again := d.repeat()
	switch {
	case d.varied >= loudFrom && len(undecided) > 0 && again.Command != "":
		again.Does = "when nothing else runs here: the machine was too noisy for sizes"
		return again
	case slices.ContainsFunc(d.used, used.unfair):
		return Step{"tare parity " + name, "what else differs, and how to remove it"}
	}
	steps := []Step{d.decide(lists.Filter(undecided, func(c placed) bool { return d.serves(c.Row.Workload.Name) })), d.why(), d.decide(undecided)}
	if i := slices.IndexFunc(steps, func(s Step) bool { return s.Command != "" }); i >= 0 {
		return steps[i]
	}
	if len(undecided) > 0 {
		return Step{"tare doctor", "what disturbs this machine, and its fix: fewer blocks decide on a quiet one"}
	}
	return Step{"tare report " + name, "the page with every trial and the conditions"}
}

// Ladder is what tare explain measures of a run: which part of a layer costs a workload what.
type Ladder struct{ Study, Scale, Workload, From, To string }

// Unexplained are the ladders of the services that are slower in a layer, or without any of
// the other workload that is slowed down most, as far as no run says which part costs that.
// The cost of an emulated guest is not that of a layer in use.
func (v *Report) Unexplained() []Ladder { return v.decision().unexplained() }

func (d *decision) unexplained() (all []Ladder) {
	study := d.studyArgument()
	if len(d.Plan.Steps) > 0 || study == "" {
		return nil
	}
	var slowest *placed
	for _, u := range d.used {
		for _, c := range u.primary() {
			l := Ladder{study, d.Plan.Scale, c.Row.Workload.Name, d.Plan.Baseline, c.Environment}
			switch {
			case c.Verdict != verdict.Slower || d.explained(c.Contrast) || slices.Contains(all, l):
			case d.serves(l.Workload):
				all = append(all, l)
			case slowest == nil || costOf(c.Contrast) > costOf(slowest.Contrast):
				slowest = &c
			}
		}
	}
	if len(all) == 0 && slowest != nil {
		all = []Ladder{{study, d.Plan.Scale, slowest.Row.Workload.Name, d.Plan.Baseline, slowest.Environment}}
	}
	return all
}

// why is the command that measures those ladders.
func (d *decision) why() Step {
	all := d.unexplained()
	if len(all) == 0 {
		return Step{}
	}
	of := map[string]string{} // the workloads of a layer
	layers := map[string][]string{}
	for _, l := range all {
		of[l.To] = strings.TrimPrefix(of[l.To]+", "+l.Workload, ", ")
	}
	for _, u := range d.used {
		layers[of[u.Name]] = append(layers[of[u.Name]], u.Name)
	}
	delete(layers, "")
	texts := lists.Map(slices.Sorted(maps.Keys(layers)), func(workloads string) string { return workloads + " in " + strings.Join(layers[workloads], ", ") })
	return Step{"tare explain --of " + commandLine([]string{d.Manifest.Run}) + " --budget 5m",
		fmt.Sprintf("which part costs that, not measured yet for %s: %s", strings.Join(texts, "; "), quantity.Counted(len(all), "run", "runs"))}
}

// decide is the command for the blocks that open comparisons likely take, if they are in
// reach.
func (v *Report) decide(open []placed) Step {
	if len(open) == 0 {
		return Step{}
	}
	blocks := slices.Max(lists.Map(open, placed.takes))
	again := v.again(blocks)
	if blocks > mostBlocks || again == "" {
		return Step{}
	}
	return Step{again, fmt.Sprintf("the blocks that the %s likely take", quantity.Counted(len(open), "undecided comparison", "undecided comparisons"))}
}

// explained reports whether another run says which part of a layer costs a workload most.
func (v *Report) explained(c *verdict.Contrast) bool {
	return slices.ContainsFunc(v.Explained, func(e Explained) bool { return e.Workload == c.Workload && e.Environment == c.Environment })
}

// repeat is the command that makes the same run again; an import, and a run that is not over,
// have none.
func (v *Report) repeat() Step {
	if _, over := v.Manifest.Over(); v.Manifest.Import != nil || !over {
		return Step{}
	}
	return Step{"tare rerun " + commandLine([]string{v.Manifest.Run}), "the same plan, seed and images"}
}

// studyArgument is the study as the run was told to find it; "" where it was not `tare run`.
func (v *Report) studyArgument() string {
	if c := v.Manifest.Command; len(c) > 2 && c[1] == "run" && !strings.HasPrefix(c[2], "-") {
		return c[2]
	}
	return ""
}

// again is the command of the run for so many blocks; "" where it has no such form.
func (v *Report) again(blocks int) string {
	c := v.Manifest.Command
	if len(c) < 3 || !slices.Contains([]string{"run", "explain"}, c[1]) || slices.Contains(c, "--resume") {
		return ""
	}
	words := []string{"tare", c[1]}
	for i := 2; i < len(c); i++ {
		switch flag, _, joined := strings.Cut(c[i], "="); {
		case !slices.Contains([]string{"--budget", "--blocks", "--out", "-o", "--seed", "--listen"}, flag):
			words = append(words, c[i])
		case !joined:
			i++
		}
	}
	return commandLine(append(words, "--blocks", fmt.Sprint(blocks)))
}
