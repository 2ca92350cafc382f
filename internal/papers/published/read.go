package published

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"tare/internal/base/strictyaml"
	"tare/published"
)

// Names lists the built-in studies.
func Names() []string { return strictyaml.Names(published.Files, ".") }

// Builtin reads one of them.
func Builtin(name string) (*Study, error) {
	file := name + ".yaml"
	data, err := fs.ReadFile(published.Files, file)
	if err != nil {
		return nil, errors.New(strictyaml.Unknown("published study", name, Names()))
	}
	s, err := Parse(file, data)
	if err == nil && s.Study != name {
		err = fmt.Errorf("published/%s: the file names its study %q", file, s.Study)
	}
	return s, err
}

// Parse reads a study and checks every reference in it.
func Parse(file string, data []byte) (*Study, error) {
	var problems strictyaml.Problems
	root, err := strictyaml.Parse(file, data, &problems)
	if err != nil {
		return nil, err
	}
	s := &Study{}
	root.Decode(s)
	if problems.Err() == nil {
		(&reader{s, root}).check()
	}
	return s, problems.Err()
}

// reader checks a study and knows the positions of its nodes.
type reader struct {
	*Study
	root strictyaml.Node
}

func (r *reader) check() {
	if r.Study.Study == "" {
		r.root.At("study").Problemf("study: the file's name is missing")
	}
	if r.Source.Title == "" {
		r.root.At("source").Problemf("source: with a title is missing")
	}
	ids := names{}
	for i, e := range r.Environments {
		ids.add(r.root.At("environments", i), "environment", e.ID)
	}
	if r.Baseline != "" {
		r.environment(r.root.At("baseline"), r.Baseline)
	}
	tables := names{}
	for i := range r.Tables {
		n := r.root.At("tables", i)
		tables.add(n, "table", r.Tables[i].ID)
		r.table(n, &r.Tables[i])
	}
	if r.Scores != nil {
		r.scores(r.root.At("scores"))
	}
	for i := range r.Figures {
		r.figure(r.root.At("figures", i), &r.Figures[i])
	}
	claims := names{}
	for i := range r.Claims {
		n := r.root.At("claims", i)
		claims.add(n, "claim", r.Claims[i].ID)
		r.claim(n, &r.Claims[i])
	}
}

// takes are the values of Counterpart.Take.
var takes = []string{"", "mean", "best", "worst", "widest"}

// draws are the values of Panel.Draw.
var draws = []string{"bars", "curves", "time"}

// names finds doubled and missing ids.
type names map[string]bool

func (ids names) add(n strictyaml.Node, what, id string) {
	switch {
	case id == "":
		n.Problemf("a %s has no id", what)
	case ids[id]:
		n.At("id").Problemf("duplicate %s %q", what, id)
	}
	ids[id] = true
}

func (r *reader) environment(n strictyaml.Node, id string) {
	if known := r.ids(); !slices.Contains(known, id) {
		n.Problemf("%s", strictyaml.Unknown("environment", id, known))
	}
}

func (r *reader) table(n strictyaml.Node, t *Table) {
	if t.Place == "" || t.Metric == "" || t.Unit == "" {
		n.Problemf("table %q needs a place, a metric and a unit", t.ID)
	}
	if !slices.Contains([]string{"higher", "lower", "neither"}, t.Better) {
		n.At("better").Problemf("expected better: higher, lower or neither, found %q", t.Better)
	}
	if (len(t.Cells) == 0) == (len(t.Rows) == 0) {
		n.Problemf("table %q needs either cells or rows", t.ID)
	}
	r.keys(n, "cells")
	seen := map[string]bool{}
	for i, row := range t.Rows {
		at := n.At("rows", i)
		if len(row.At) == 0 || seen[row.At.String()] {
			at.Problemf("each row needs a level (at: {clients: 10}) of its own")
		}
		seen[row.At.String()] = true
		r.keys(at, "cells")
		r.keys(at, "changes")
		if len(row.Changes) > 0 && t.Changes == nil {
			at.At("changes").Problemf("changes in a row need `changes: {over: ENVIRONMENT}` at the table")
		}
	}
	if t.Changes != nil {
		r.environment(n.At("changes", "over"), t.Changes.Over)
		r.keys(n.At("changes"), "cells")
		for _, row := range t.rows() {
			for id := range t.changes(row) {
				for _, need := range []string{id, t.Changes.Over} {
					if c, ok := row.Cells[need]; !ok || c.Empty {
						n.At("changes").Problemf("a change of %s over %s needs the values of both", id, t.Changes.Over)
					}
				}
			}
		}
	}
	for _, m := range t.Measures {
		if m.Workload == "" || m.Metric == "" {
			n.At("measures").Problemf("measures needs a workload and a metric")
		}
		if !slices.Contains(takes, m.Take) {
			n.At("measures").Problemf("%s", strictyaml.Unknown("take", m.Take, takes[1:]))
		}
	}
	if t.Relative != "" {
		r.environment(n.At("relative"), t.Relative)
	}
	r.keys(n, "options")
	r.keys(n, "unlike")
}

func (r *reader) figure(n strictyaml.Node, f *Drawn) {
	if f.Place == "" || f.Shows == "" || (len(f.Panels) == 0) == (f.Gap == "") {
		n.Problemf("figure %q needs a place, what it shows, and either panels or a gap", f.Place)
	}
	for i, p := range f.Panels {
		at := n.At("panels", i)
		if !slices.Contains(draws, p.Draw) {
			at.At("draw").Problemf("%s", strictyaml.Unknown("way of drawing", p.Draw, draws))
		}
		t := r.tableByID(p.Table)
		if p.Table != "" && t == nil {
			at.At("table").Problemf("the study has no table %q", p.Table)
		}
		if len(p.Measures) == 0 && (t == nil || len(t.Measures) == 0) {
			at.Problemf("a panel needs measures, or a table that has some")
		}
		if (p.Draw == "curves") != (p.Over != "") || (p.Draw == "time") != (p.Quantity != "") {
			at.Problemf("curves need `over`, and what is drawn over time a `quantity`")
		}
		for j, id := range p.Environments {
			r.environment(at.At("environments", j), id)
		}
	}
}

// keys finds environments in a mapping that the study does not have.
func (r *reader) keys(n strictyaml.Node, key string) {
	if at, given := n.Get(key); given && at.IsMapping() {
		for _, p := range at.Pairs() {
			r.environment(p.Value, p.Key)
		}
	}
}

func (r *reader) scores(n strictyaml.Node) {
	r.environment(n.At("baseline"), r.Scores.Baseline)
	ids := names{}
	for g := range r.Scores.Groups {
		group, at := &r.Scores.Groups[g], n.At("groups", g)
		ids.add(at, "score", group.ID)
		r.keys(at, "sums")
		for f := range group.Features {
			feature, at := &group.Features[f], at.At("features", f)
			ids.add(at, "score", feature.ID)
			r.keys(at, "scores")
			if (len(feature.AtLeast) == 0) == (len(feature.AtMost) == 0) {
				at.Problemf("feature %q needs either at_least or at_most", feature.ID)
			}
			t := r.tableByID(feature.Table)
			if t == nil || len(t.Rows) > 0 {
				at.At("table").Problemf("feature %q needs a table without levels, found %q", feature.ID, feature.Table)
				continue
			}
			for id := range feature.Scores {
				for _, need := range []string{id, r.Scores.Baseline} {
					if c, ok := t.Cells[need]; !ok || c.Empty {
						at.At("scores").Problemf("the score of %s needs the values of %s and %s in table %q", id, id, r.Scores.Baseline, t.ID)
					}
				}
			}
		}
	}
}

func (r *reader) claim(n strictyaml.Node, c *Claim) {
	if c.Place == "" || c.Says == "" || len(c.Checks) == 0 {
		n.Problemf("claim %q needs place, says and check", c.ID)
	}
	for i := range c.Checks {
		at := n.At("check")
		if at.IsSequence() {
			at = at.At(i)
		}
		kinds := c.Checks[i].kinds()
		if n := len(kinds); n != 1 && (n != 2 || kinds[1] != "unchecked") {
			at.Problemf("a check has exactly one kind of %s, with or without unchecked; found %d", strings.Join(kindNames, ", "), n)
			continue
		}
		// A check that cannot be evaluated is an error in the file.
		study := *r.Study
		if len(kinds) == 2 {
			study.again = anything{}
		}
		if _, err := study.evaluate(&c.Checks[i]); err != nil {
			at.Problemf("%s", err)
		}
	}
}
