package study

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/workload"
)

// KindAndHost says what an environment is, and where it runs if not on this
// machine.
func (e Environment) KindAndHost() string {
	switch {
	case e.Inside != nil:
		return e.Kind + " " + e.InsideOf()
	case e.Host != "":
		return e.Kind + " on host " + e.Host
	}
	return e.Kind
}

// InsideOf names the environment that this one is inside, with the system of its
// machines if the study sets one.
func (e Environment) InsideOf() string {
	words := "inside " + e.Inside.Name
	if e.OneMachine {
		words = "inside one " + e.Inside.Name
	}
	if system := e.Inside.System.String(); system != "" {
		words += " with " + system
	}
	return words
}

// SeparateRoles says which roles do not run together with the others, and where
// they run.
func (w Workload) SeparateRoles() string {
	var words []string
	for _, role := range w.Pack.RoleNames() {
		where := w.Pack.Place(role)
		if where == workload.Together || w.Application.Of(role) != nil {
			continue
		}
		if on := w.Pack.Roles[role].Hosts; len(on) > 0 {
			where += " on " + strings.Join(on, ", ")
		}
		words = append(words, role+" "+where)
	}
	return strings.Join(words, "; ")
}

// Settings is what the study sets at all levels alike, as key=value. What it
// sweeps is in the names of the levels.
func (w Workload) Settings() string {
	first := w.settings(w.Levels[0])
	var words []string
	for _, key := range slices.Sorted(maps.Keys(first)) {
		differs := func(l Level) bool {
			return strings.Contains(","+l.Name, ","+key+"=") || w.settings(l)[key] != first[key]
		}
		if !slices.ContainsFunc(w.Levels, differs) {
			words = append(words, key+"="+first[key])
		}
	}
	return strings.Join(words, " ")
}

// settings of a level that are not the pack's defaults.
func (w Workload) settings(l Level) map[string]string {
	set := map[string]string{}
	for key, value := range l.Parameters {
		if value != w.Pack.Parameters[key].Default {
			set[key] = value
		}
	}
	for key, n := range map[string]int{"instances": l.Instances, "starting": l.Starting, "neighbours": l.Neighbours} {
		if n > 0 && !(key == "instances" && n == 1) {
			set[key] = fmt.Sprint(n)
		}
	}
	if w.Neighbour != nil && l.Neighbours > 0 {
		for key, value := range l.Neighbour {
			if value != w.Neighbour.Parameters[key].Default {
				set["neighbour."+key] = value
			}
		}
	}
	return set
}

// OrderWords says how the trials of the environments follow each other.
func (d Design) OrderWords() string {
	if d.Order != Alternating {
		return d.Order
	}
	rounds := fmt.Sprintf("%d rounds of samples in each block", d.Rounds)
	switch {
	case d.RoundsChosen && d.Budget > 0:
		rounds = "rounds of samples in each block chosen after the first"
	case d.RoundsChosen:
		rounds = fmt.Sprintf("rounds of samples in each block chosen after %d blocks", FirstBlocks)
	}
	return fmt.Sprintf("%s, %s, waiting instances %s", d.Order, rounds, d.Waiting)
}

// BlocksAndBudget says when a run ends.
func (d Design) BlocksAndBudget() string {
	b := d.Blocks
	switch {
	case b.Fixed:
		if b.Max == 1 {
			return "exactly 1 block"
		}
		return fmt.Sprintf("exactly %d blocks", b.Max)
	case b.Open:
		return fmt.Sprintf("at least %d blocks, until all verdicts are reached", b.Min)
	}
	text := fmt.Sprintf("%d to %d blocks", b.Min, b.Max)
	if d.Budget > 0 {
		text += fmt.Sprintf(", at most %v", d.Budget)
	}
	return text
}
