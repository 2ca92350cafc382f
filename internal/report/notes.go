package report

import (
	"fmt"
	"strings"

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

// gatherNotes collects what the starts and the trials remarked, each remark
// once with the number of times.
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
		for _, n := range e.Facts.Notes {
			remark(e.Shown, n)
		}
	}
	for _, t := range v.Trials {
		for _, w := range t.Warnings {
			remark(v.shown(t.Environment), w)
		}
	}
	for _, c := range v.Contrasts {
		for _, w := range c.Warnings {
			if w.Code == verdict.Emulation {
				continue // said once, with the environment's sentence
			}
			n := remark(v.shown(c.Environment), w.Text)
			n.Places = append(n.Places, place(c.Workload, c.Level)+", "+c.Metric)
		}
	}
}
