package study

import (
	"encoding/json"
	"reflect"
	"testing"
)

// A plan of an older version has no shapes: reading it gives the ones that a
// plan of today has.
func TestAPlanWithoutShapesGetsThemWhenItIsRead(t *testing.T) {
	resolved := 0
	for _, name := range Names() {
		file, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := Resolve(file, Overrides{})
		if err != nil {
			continue // the kinds of these tests lack some options
		}
		resolved++
		text, err := json.Marshal(plan)
		if err != nil {
			t.Fatal(err)
		}
		var older map[string]any
		if err := json.Unmarshal(text, &older); err != nil {
			t.Fatal(err)
		}
		for _, w := range older["workloads"].([]any) {
			for _, l := range w.(map[string]any)["levels"].([]any) {
				delete(l.(map[string]any), "shape")
			}
		}
		stripped, err := json.Marshal(older)
		if err != nil {
			t.Fatal(err)
		}
		var today, before Plan
		if err := json.Unmarshal(text, &today); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(stripped, &before); err != nil {
			t.Fatal(err)
		}
		for i, w := range plan.Workloads {
			for n, l := range w.Levels {
				if l.Shape.Copies == 0 {
					t.Errorf("%s: workload %s has no shape at level %q", name, w.Name, l.Name)
				}
				if !reflect.DeepEqual(today.Workloads[i].Levels[n].Shape, l.Shape) || !reflect.DeepEqual(before.Workloads[i].Levels[n].Shape, l.Shape) {
					t.Errorf("%s: workload %s at level %q: %+v, read %+v, of an older plan %+v", name, w.Name, l.Name,
						l.Shape, today.Workloads[i].Levels[n].Shape, before.Workloads[i].Levels[n].Shape)
				}
			}
		}
	}
	if resolved < 3 {
		t.Errorf("%d studies were resolved", resolved)
	}
}

// A shape that cannot be computed is no reason not to read a run.
func TestAPlanWhoseShapesCannotBeComputedIsRead(t *testing.T) {
	var plan Plan
	if err := json.Unmarshal([]byte(`{"workloads": [{"name": "w", "pack": {"workload": "w"}, "levels": [{"name": "", "parameters": {"gone": "1"}}]}]}`), &plan); err != nil {
		t.Fatal(err)
	}
	if plan.Workloads[0].Levels[0].Shape.Copies != 0 {
		t.Errorf("it has the shape %+v", plan.Workloads[0].Levels[0].Shape)
	}
	if err := plan.ExpandShapes(); err == nil {
		t.Error("expanding it succeeds")
	}
}

func TestOnlyShapesThatCanUseTheSameInstancesHaveTheSameKey(t *testing.T) {
	one := Shape{Copies: 1, Together: true}
	seen := map[string]Shape{one.Key(): one}
	for _, s := range []Shape{
		{Copies: 2, Together: true},
		{Copies: 1, Together: true, Joined: true},
		{Copies: 1, Together: true, Starting: 1},
		{Copies: 1, Together: true, Neighbours: &one},
		{Copies: 1, Together: true, Roles: []RoleShape{{Name: "node", Count: 1}}},
		{Copies: 1, Together: true, Roles: []RoleShape{{Name: "node", Count: 2}}},
		{Copies: 1, Together: true, Roles: []RoleShape{{Name: "node", Count: 1, OnHost: true}}},
		{Copies: 1, Together: true, Roles: []RoleShape{{Name: "node", Count: 1, Hosts: []string{"x"}}}},
		{Copies: 1, Roles: []RoleShape{{Name: "node", Count: 1}}},
	} {
		if other, taken := seen[s.Key()]; taken {
			t.Errorf("%+v and %+v have the key %s", s, other, s.Key())
		}
		seen[s.Key()] = s
	}
}
