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

func TestImportedEnvironmentsAreMatchedByName(t *testing.T) {
	in := reporttest.Beside()
	in.Manifest.Import = &rundir.Import{}
	for i := range in.Plan.Environments {
		in.Plan.Environments[i].Kind = in.Plan.Environments[i].Name
	}
	if a := model.ComparePublished(in.Against.Study, in); len(a.Rows) != 0 || a.Baseline != "" {
		t.Errorf("native is not called Metal, and yet: %+v", a)
	}
	study := *in.Against.Study
	study.Environments = slices.Clone(study.Environments)
	study.Environments[0].Name = "Native"
	if a := model.ComparePublished(&study, in); len(a.Rows) != 3 { // docker in three tables; vm is not called KVM
		t.Errorf("%+v", a.Rows)
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
