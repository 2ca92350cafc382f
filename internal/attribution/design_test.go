package attribution

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/study"
)

func unitsOf(needs map[string][]string, keys ...string) (units []Unit) {
	for _, k := range keys {
		units = append(units, Unit{Part{Key: k, Name: k, Needs: needs[k]}, []string{k}})
	}
	return units
}

func TestOrdersRespectWhatPartsNeedAndFollowFromTheSeed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		keys := []string{"a", "b", "c", "d", "e", "f", "g"}[:rapid.IntRange(1, 7).Draw(t, "parts")]
		needs := map[string][]string{}
		for i, k := range keys {
			for _, n := range keys[:i] {
				if rapid.IntRange(0, 3).Draw(t, k+n) == 0 {
					needs[k] = append(needs[k], n)
				}
			}
		}
		units, n, seed := unitsOf(needs, keys...), rapid.IntRange(1, 8).Draw(t, "orders"), rapid.Uint64().Draw(t, "seed")
		orders, all := Orders(units, n, seed)
		if again, _ := Orders(units, n, seed); !slices.EqualFunc(orders, again, slices.Equal) {
			t.Fatal("the same seed gives other orders")
		}
		if len(orders) == 0 || !all && len(orders) > n {
			t.Fatalf("%d orders where %d were asked for", len(orders), n)
		}
		for i, o := range orders {
			for at, u := range o {
				for _, need := range needs[keys[u]] {
					if slices.Index(o[:at], slices.Index(keys, need)) < 0 {
						t.Fatalf("%v: %s comes before %s, which it needs", o, keys[u], need)
					}
				}
			}
			if slices.ContainsFunc(orders[:i], func(p []int) bool { return slices.Equal(p, o) }) {
				t.Fatalf("%v is there twice", o)
			}
		}
	})
}

func TestFewPartsHaveAllTheirOrders(t *testing.T) {
	orders, all := Orders(unitsOf(map[string][]string{"d": {"a"}}, "a", "b", "c", "d"), 1, 1)
	if len(orders) != 12 || !all {
		t.Errorf("%d orders of four parts, one of which needs another", len(orders))
	}
}

func TestAGroupIsSwitchedAtOnceIfNothingItNeedsLiesBetween(t *testing.T) {
	group := func(units []Unit, keys ...string) []Unit {
		for i := range units {
			if slices.Contains(keys, units[i].Key) {
				units[i].Group = "g"
			}
		}
		return units
	}
	if list, ok := mergeGroup(group(unitsOf(nil, "a", "b", "c"), "a", "c"), "g"); !ok || len(list) != 2 || !slices.Equal(list[0].Keys, []string{"a", "c"}) {
		t.Errorf("%+v", list)
	}
	// c needs b, and b needs a: a and c cannot be switched at once.
	if list, ok := mergeGroup(group(unitsOf(map[string][]string{"b": {"a"}, "c": {"b"}}, "a", "b", "c"), "a", "c"), "g"); ok || len(list) != 3 {
		t.Errorf("%+v", list)
	}
}

// A ladder as Build makes them, of environments whose options are the parts.
func ladder(t *testing.T, keys ...string) Ladder {
	t.Helper()
	from, to := study.Environment{Name: "from", Kind: "none", Options: []byte("{}")}, study.Environment{Name: "to", Kind: "none"}
	l := Ladder{from: from, to: to, members: map[string][]int{}}
	options := tree{}
	for i, k := range keys {
		options.set(k, true)
		l.changes = append(l.changes, change{Part: Part{Key: k, Name: k + " part", About: k}, apply: func(d *draft) { d.options.set(k, true) }})
		l.Parts = append(l.Parts, l.changes[i].Part)
		l.members[k] = []int{i}
	}
	l.to.Options = []byte(`{"` + strings.Join(keys, `":true,"`) + `":true}`)
	if err := l.addRungs(); err != nil {
		t.Fatal(err)
	}
	return l
}

func always(study.Environment) string { return "" }

func stepWords(d Design) (steps []string) {
	for _, s := range d.Steps {
		steps = append(steps, s.Part+": "+s.Base+" to "+s.Environment)
	}
	return steps
}

func TestAnUnavailableRungIsMergedIntoTheNextStep(t *testing.T) {
	l := ladder(t, "a", "b", "c")
	units := Units(l, nil)
	second := l.Rungs[2].Name
	d, err := NewDesign(l, units, [][]int{{0, 1, 2}}, func(e study.Environment) string {
		if e.Name == second {
			return "needs crun"
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	first := l.Rungs[1].Name
	if got, want := stepWords(d), []string{"a: from to " + first, "b+c: " + first + " to to", ": from to to"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if len(d.Environments) != 3 || len(d.Remarks) != 1 || !strings.Contains(d.Remarks[0], "needs crun") {
		t.Errorf("%d environments, remarks %q", len(d.Environments), d.Remarks)
	}
}

func TestAnUnavailableEndIsAnError(t *testing.T) {
	l := ladder(t, "a", "b")
	_, err := NewDesign(l, Units(l, nil), [][]int{{0, 1}}, func(e study.Environment) string {
		if e.Name == "to" {
			return "no daemon answers"
		}
		return ""
	})
	if err == nil || !strings.Contains(err.Error(), "to does not work on this machine: no daemon answers") {
		t.Error(err)
	}
}

func TestOrdersShareTheEnvironmentsThatTheyHaveInCommon(t *testing.T) {
	l := ladder(t, "a", "b", "c")
	units := Units(l, nil)
	orders, _ := Orders(units, 1, 1)
	d, err := NewDesign(l, units, orders, always)
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Environments) != 8 || len(d.Steps) != 6*3+1 {
		t.Errorf("%d environments and %d steps of all orders of three parts", len(d.Environments), len(d.Steps))
	}
	if d.Environments[0].Name != "from" || d.Environments[7].Name != "to" || d.Steps[0].Order != 1 || d.Steps[17].Order != 6 {
		t.Errorf("%+v", stepWords(d))
	}
}

func TestAnOrderWithoutAllItsRungsIsLeftOut(t *testing.T) {
	l := ladder(t, "a", "b")
	units := Units(l, nil)
	orders, _ := Orders(units, 1, 1)
	lacking := l.Rungs[1].Name
	d, err := NewDesign(l, units, orders, func(e study.Environment) string {
		if e.Name == lacking {
			return "absent"
		}
		return ""
	})
	if err != nil || len(d.Environments) != 3 || len(d.Steps) != 3 || len(d.Remarks) != 1 {
		t.Errorf("%v: %q, %q", err, stepWords(d), d.Remarks)
	}
}
