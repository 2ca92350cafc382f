package prices

import (
	"strings"
	"testing"

	_ "tare/internal/environment/native" // a kind for the plan
	"tare/internal/study"
)

func TestAProfileAlternatesCountedAndUncountedTrials(t *testing.T) {
	plan, err := Request{Workload: "redis", Overrides: study.Overrides{Blocks: 6}}.Plan()
	if err != nil {
		t.Fatal(err)
	}
	all := plan.Environments
	if len(all) != 2 || all[0].Name != "native" || all[0].Counted || all[1].Name != Counted || !all[1].Counted || plan.Design.Order == study.Alternating {
		t.Errorf("%+v in order %s", all, plan.Design.Order)
	}
}

func TestAStartHasNoProfile(t *testing.T) {
	if _, err := (Request{Workload: "startup"}).Plan(); err == nil || !strings.Contains(err.Error(), "the workload startup measures a start") {
		t.Error(err)
	}
}
