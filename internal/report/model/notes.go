package model

import (
	"fmt"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/verdict"
)

// Note is a remark about an environment, with the comparisons that it applies to or
// the number of times that it occurred.
type Note struct {
	Environment, Text string
	Places            []string
	Times             int
}

// Where names what a note applies to; "" for everything.
func (n Note) Where() string {
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

func (n Note) String() string { return n.Environment + ": " + n.Text + n.Where() }

// gatherNotes collects the remarks of starts, trials and comparisons, each once with
// everything that it applies to.
func (v *Report) gatherNotes() {
	type key struct{ who, text string }
	index := map[key]int{}
	remark := func(who, text string) *Note {
		i, seen := index[key{who, text}]
		if !seen {
			i = len(v.Notes)
			index[key{who, text}] = i
			v.Notes = append(v.Notes, Note{Environment: who, Text: text})
		}
		v.Notes[i].Times++
		return &v.Notes[i]
	}
	if v.Incomplete != "" {
		remark("this run", v.Incomplete)
	}
	for _, e := range v.Environments {
		for _, own := range e.Own() {
			remark(e.Shown, "own parameters for "+own)
		}
		for _, n := range e.Facts.Notes {
			remark(e.Shown, n)
		}
	}
	if v.Plan.Sampling.Off {
		remark("all environments", "rate off: peaks are not recorded, since resource use is read only when the drivers start and when they end")
	}
	if v.Plan.Sampling.Syscalls {
		remark("all environments", "system calls are counted in every trial, which slows all environments")
	}
	if text := v.howAlternated(); text != "" {
		remark("all environments", text)
	}
	for _, t := range v.Trials {
		for _, w := range t.Warnings {
			remark(v.ShownName(t.Environment), w)
		}
	}
	for i := range v.Contrasts {
		c := &v.Contrasts[i]
		if v.absent[c.Figure().In("")] {
			continue
		}
		for _, w := range c.Warnings {
			if text := v.brief(c, w); text != "" {
				n := remark(v.ShownName(c.Environment), text)
				n.Places = append(n.Places, LevelTitle(c.Workload, c.Level)+", "+metricTitle(c.Metric))
			}
		}
	}
	v.Notes = together(v.Notes)
}

// brief is a warning of a comparison as a note; "" if it is reported elsewhere.
func (v *Report) brief(c *verdict.Contrast, w verdict.Warning) string {
	switch w.Code {
	case verdict.Emulation:
		return "" // reported once, in the headline of the environment
	case verdict.Confound:
		return "" // marked, and reported under fairness
	case verdict.Unpaired, verdict.FreshUnknown, verdict.FewResults:
		return "" // reported once, for the import
	case verdict.Zero, verdict.Failing, verdict.Shares:
		return "" // not an error: the cost is 0; or shown with the comparison
	case verdict.NotPositive:
		return noRatio
	case verdict.GivenUp:
		if c.Reason.Code == verdict.Lacking {
			return "no value"
		}
		for _, side := range []string{c.Environment, c.Baseline} {
			switch reason := c.Reason.CauseOf(side); {
			case reason == "":
			case v.listed(side, c, reason):
				return "" // among the trials that failed or were skipped
			case side == c.Environment:
				return "no value: " + reason
			}
		}
	}
	return w.String()
}

// listed reports whether trials of this environment failed or were skipped for this
// reason.
func (v *Report) listed(environment string, c *verdict.Contrast, reason string) bool {
	return slices.ContainsFunc(slices.Concat(v.Failed, v.Known), func(f Failure) bool {
		return f.Shown == v.ShownName(environment) && f.Workload == c.Workload && f.Level == c.Level && f.Reason == reason
	})
}

// MachineNotes are the sources of noise on the machine, as notes.
func (v *Report) MachineNotes() (notes []Note) {
	for _, f := range v.Manifest.Noise {
		if f.Reason != "" && f.State != environment.Usable {
			notes = append(notes, Note{Environment: "this machine", Text: "expected " + f.What + ", found " + f.Reason})
		}
	}
	return notes
}

// together merges notes that are equal for several environments.
func together(notes []Note) []Note {
	var kept []Note
	for _, n := range notes {
		if same := lists.Find(kept, n.same); same != nil {
			same.Environment += ", " + n.Environment
			continue
		}
		kept = append(kept, n)
	}
	return kept
}

// same reports whether another note says the same of the same places, or as often.
func (n Note) same(other *Note) bool {
	return n.Text == other.Text && slices.Equal(n.Places, other.Places) && (len(n.Places) > 0 || max(n.Times, 1) == max(other.Times, 1))
}
