package model_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
)

func TestPrintedRatiosAreComparedWithTheMeasuredOnes(t *testing.T) {
	in := reporttest.Beside()
	rows := map[string]model.AgainstRow{}
	for _, r := range in.Against.Rows {
		rows[r.Workload+" "+r.Level+" "+r.Environment] = r
	}
	if len(rows) != 5 {
		t.Fatalf("%d rows, want 5: %+v", len(rows), in.Against.Rows)
	}
	for _, test := range []struct {
		key       string
		published float64
		levels    int
	}{
		{"sysbench-cpu  docker", .8, 1}, {"sysbench-cpu  vm", .5, 1}, {"redis clients=10 docker", .9, 1},
		{"redis mean of 4 levels docker", .7, 4}, {"redis mean of 3 of 4 levels vm", .25, 3},
	} {
		r, ok := rows[test.key]
		if !ok || math.Abs(r.Published-math.Log(test.published)) > 1e-9 || r.Levels != test.levels {
			t.Errorf("%s: %+v, want published %v over %d levels", test.key, r, test.published, test.levels)
		}
		if r.Bounded != (test.levels == 1) {
			t.Errorf("%s: bounded is %v", test.key, r.Bounded)
		}
	}
}

func TestImportedEnvironmentsAreMatchedByNameAndByKind(t *testing.T) {
	in := reporttest.Beside()
	in.Manifest.Import = &rundir.Import{}
	called := func(native string) *model.Against {
		for i := range in.Plan.Environments {
			e := &in.Plan.Environments[i]
			e.Options = nil // which no import knows
			if e.Name == in.Plan.Baseline {
				e.Kind = native
			}
		}
		return model.ComparePublished(in.Against.Study, in)
	}
	if a := called("bare"); len(a.Rows) != 0 || a.Baseline != "" {
		t.Errorf("neither the name nor the kind is that of Metal, and yet: %+v", a)
	}
	if a := called("native"); a.Baseline != "Metal" || !slices.ContainsFunc(a.Rows, func(r model.AgainstRow) bool { return r.Name == "KVM" }) {
		t.Errorf("%q, %+v", a.Baseline, a.Rows)
	}
}

func TestARunWithAnotherBaselineSaysThatNothingCompares(t *testing.T) {
	in := reporttest.Beside()
	for i := range in.Plan.Environments {
		if in.Plan.Environments[i].Name == in.Plan.Baseline {
			in.Plan.Environments[i].Kind = "podman"
		}
	}
	in.Against = model.ComparePublished(in.Against.Study, in)
	if lead := model.New(in).AgainstLead(); len(in.Against.Rows) != 0 || !strings.Contains(lead, "so there is nothing to compare") {
		t.Errorf("%d rows; the report says: %s", len(in.Against.Rows), lead)
	}
}
