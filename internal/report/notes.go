package report

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/environment"
	"tare/internal/verdict"
)

// note is one remark about an environment, with the comparisons that it holds
// for, or the number of times that it was made.
type note struct {
	Environment, Text string
	Places            []string
	Times             int
}

// Where says what a note holds for, where that is not everything.
func (n note) Where() string {
	switch {
	case len(n.Places) > 3:
		return fmt.Sprintf(" (%d comparisons)", len(n.Places))
	case len(n.Places) > 0:
		return " (" + strings.Join(n.Places, "; ") + ")"
	case n.Times > 1:
		return fmt.Sprintf(" (%d times)", n.Times)
	}
	return ""
}

func (n note) String() string { return n.Environment + ": " + n.Text + n.Where() }

// gatherNotes collects what the starts, the trials and the comparisons
// remarked: each remark once, with all whom it holds for.
func (v *view) gatherNotes() {
	index := map[[2]string]int{}
	remark := func(who, text string) *note {
		i, seen := index[[2]string{who, text}]
		if !seen {
			i = len(v.Notes)
			index[[2]string{who, text}] = i
			v.Notes = append(v.Notes, note{Environment: who, Text: text})
		}
		v.Notes[i].Times++
		return &v.Notes[i]
	}
	for _, e := range v.Environments {
		for _, own := range e.Own() {
			remark(e.Shown, "parameters of its own for "+own)
		}
		for _, n := range e.Facts.Notes {
			remark(e.Shown, n)
		}
	}
	if v.Plan.Sampling.Off {
		remark("all environments", "rate off: peaks are not seen, as what they use is looked at when the drivers begin and when they end")
	}
	if v.Plan.Sampling.Syscalls {
		remark("all environments", "system calls are counted in every trial, which slows all alike")
	}
	for _, t := range v.Trials {
		for _, w := range t.Warnings {
			remark(v.shown(t.Environment), w)
		}
	}
	for i := range v.Contrasts {
		c := &v.Contrasts[i]
		if v.absent[where{workload: c.Workload, level: c.Level, metric: c.Metric}] {
			continue
		}
		for _, w := range c.Warnings {
			if text := v.brief(c, w); text != "" {
				n := remark(v.shown(c.Environment), text)
				n.Places = append(n.Places, place(c.Workload, c.Level)+", "+inWords(c.Metric))
			}
		}
	}
	v.Notes = together(v.Notes)
}

// brief is a comparison's warning as a note; "" where it is said elsewhere.
func (v *view) brief(c *contrast, w verdict.Warning) string {
	switch w.Code {
	case verdict.Emulation:
		return "" // said once, with the environment's sentence
	case verdict.Confound:
		return "" // marked, and said under fairness
	case verdict.Unpaired, verdict.FreshUnknown, verdict.FewResults:
		return "" // said once, of the import
	case verdict.Zero:
		return "" // no mistake: the cost is nothing
	case verdict.NotPositive:
		return noRatio
	case verdict.GivenUp:
		if plain(c, c.Environment) || plain(c, c.Baseline) {
			return "no figure"
		}
		for _, side := range []string{c.Environment, c.Baseline} {
			reason, ofSide := strings.CutPrefix(w.Text, "no figure from "+side+": ")
			switch {
			case !ofSide:
			case v.listed(side, c, reason):
				return "" // among the trials that failed or were skipped
			case side == c.Environment:
				return "no figure: " + reason
			}
		}
	}
	return w.Text
}

// listed says whether trials of this environment failed or were skipped for
// this reason.
func (v *view) listed(environment string, c *contrast, reason string) bool {
	return slices.ContainsFunc(slices.Concat(v.Failed, v.Known), func(f failure) bool {
		return f.Shown == v.shown(environment) && f.Workload == c.Workload && f.Level == c.Level && f.Reason == reason
	})
}

// unquiet is what may spoil measurements on the machine, as notes.
func (v *view) unquiet() (notes []note) {
	for _, f := range v.Manifest.Noise {
		if f.Reason != "" && f.State != environment.Usable {
			notes = append(notes, note{Environment: "this machine", Text: "wanted " + f.What + ", found " + f.Reason})
		}
	}
	return notes
}

// together makes one note of those that say the same of several environments.
func together(notes []note) []note {
	var kept []note
	index := map[string]int{}
	for _, n := range notes {
		key := n.Text + "\x00" + strings.Join(n.Places, "\x00")
		if len(n.Places) == 0 {
			key += n.Where()
		}
		if i, seen := index[key]; seen {
			kept[i].Environment += ", " + n.Environment
			continue
		}
		index[key] = len(kept)
		kept = append(kept, n)
	}
	return kept
}
