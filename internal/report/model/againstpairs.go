package model

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/image"
	"tare/internal/papers/published"
	"tare/internal/study"
)

// pairing is the run's environment that stands for one of the study, with what differs.
type pairing struct {
	mine    string
	differs []string
}

// pairings maps the study's environments to the run's, for one table: those with the
// fewest differences first, and of these those with the same name. What was imported has a
// name alone.
func (in Input) pairings(s *published.Study, t *published.Table) map[string]pairing {
	type candidate struct {
		id string
		pairing
		named bool
	}
	var all []candidate
	for _, e := range s.Environments {
		for _, mine := range in.Plan.Environments {
			named := strings.EqualFold(mine.Name, e.ID) || strings.EqualFold(mine.Name, e.Name)
			differs, fits := []string(nil), named
			if in.Manifest.Import == nil {
				differs, fits = differences(mine, e, t.Options[e.ID])
			} else if mine.Kind == e.Kind && e.Inside == "" { // its options are not known
				fits = true
			}
			if fits && !in.Plan.Rung(mine.Name) {
				all = append(all, candidate{e.ID, pairing{mine.Name, differs}, named})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		unnamed := func(c candidate) int {
			if c.named {
				return 0
			}
			return 1
		}
		return cmp.Or(cmp.Compare(len(a.differs), len(b.differs)), cmp.Compare(unnamed(a), unnamed(b)))
	})
	pairs, taken := map[string]pairing{}, map[string]bool{}
	for _, c := range all {
		if _, paired := pairs[c.id]; !paired && !taken[c.mine] {
			pairs[c.id], taken[c.mine] = c.pairing, true
		}
	}
	return pairs
}

// differences are what an environment of the run has otherwise than an environment of the
// study; false where it cannot stand for it. One whose system the run's study chose is
// measured for that system, which no publication means.
func differences(mine study.Environment, e published.Environment, here map[string]string) ([]string, bool) {
	options := map[string]any{}
	_ = json.Unmarshal(mine.Options, &options) // kinds without options have none to compare
	outer := ""
	if mine.Inside != nil {
		outer = mine.Inside.Kind
		if mine.Inside.System != (image.System{}) {
			return nil, false
		}
	}
	if e.Kind == "" {
		return nil, false
	}
	if mine.Kind == e.Kind && outer == e.Inside {
		for key, want := range e.With {
			if _, here := here[key]; !here && fmt.Sprint(options[key]) != want {
				return nil, false
			}
		}
		return unlike(options, here), true
	}
	for _, other := range e.Instead {
		if mine.Kind != other.Kind || outer != other.Inside {
			continue
		}
		var said []string
		if e.Kind != mine.Kind {
			said = append(said, "printed on "+e.Kind+", measured on "+mine.Kind)
		}
		if e.Inside != outer {
			said = append(said, "printed inside "+e.Inside+", measured inside "+outer)
		}
		return append(said, unlike(options, here)...), true
	}
	return nil, false
}

// unlike says which options of an environment are not as they were for a table.
func unlike(options map[string]any, here map[string]string) (said []string) {
	for _, key := range slices.Sorted(maps.Keys(here)) {
		if has, known := options[key]; known && fmt.Sprint(has) != here[key] {
			said = append(said, fmt.Sprintf("printed with %s: %s, measured with %s: %v", key, here[key], key, has))
		}
	}
	return said
}
