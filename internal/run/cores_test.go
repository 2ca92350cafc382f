package run

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/environment"
	"tare/internal/study"
)

func TestALimitOfMoreCPUsThanTheMachineHasIsRefusedWithWhatToDo(t *testing.T) {
	wide := environment.Limits{CPUs: 4}
	plan := func(e study.Environment, scales ...string) *study.Plan {
		return &study.Plan{Environments: []study.Environment{{Name: "a", Limits: environment.Limits{CPUs: 2}}, e}, Scales: scales}
	}
	for _, c := range []struct {
		plan  *study.Plan
		cores int
		says  []string // none: it is accepted
		not   string
	}{
		{plan(study.Environment{Name: "b", Limits: wide}), 2, []string{"gives b 4 CPUs", "this machine has 2", "limits: {cpus: 2}"}, "--scale"},
		{plan(study.Environment{Name: "b", Limits: wide}, "small"), 2, []string{"--scale small"}, ""},
		{plan(study.Environment{Name: "b", Limits: wide}), 4, nil, ""},
		{plan(study.Environment{Name: "b"}), 2, nil, ""},
		{plan(study.Environment{Name: "b", Limits: wide, Host: "large"}), 2, nil, ""},
		{plan(study.Environment{Name: "b", Limits: wide, Inside: &study.Environment{Name: "vm"}}), 2, nil, ""},
	} {
		err := TooWide(c.plan, c.cores)
		if (err == nil) != (len(c.says) == 0) {
			t.Errorf("%+v on %d cores: %v", c.plan.Environments[1], c.cores, err)
			continue
		}
		for _, word := range c.says {
			if !strings.Contains(err.Error(), word) || c.not != "" && strings.Contains(err.Error(), c.not) {
				t.Errorf("%q is not in, or %q is in: %v", word, c.not, err)
			}
		}
	}
}

func TestPinningToAnAbsentCoreIsRejected(t *testing.T) {
	plan := &study.Plan{Environments: []study.Environment{{Name: "a"}}, Pin: map[string][]int{"server": {0, 1}, "driver": {7}}}
	if err := TooWide(plan, 2); err == nil || !strings.Contains(err.Error(), "driver is pinned to core 7, and this machine has 2") {
		t.Errorf("on 2 cores: %v", err)
	}
	if err := TooWide(plan, 8); err != nil {
		t.Errorf("on 8 cores: %v", err)
	}
	plan.Environments[0].Host = "large"
	if err := TooWide(plan, 2); err != nil {
		t.Errorf("on another machine: %v", err)
	}
}

func TestAStudyThatNeedsMoreThanTheMachineHasStartsNothing(t *testing.T) {
	starts := bareStarts.Load()
	directory := filepath.Join(t.TempDir(), "run")
	_, err := Execute(t.Context(), Options{Home: t.TempDir(), Directory: directory,
		Plan: plan(t, "[{use: ./echo.yaml}]", "{blocks: 2}", "{a: {kind: bare}, b: {kind: bare, limits: {cpus: 100000}}}")})
	if input := (*InputError)(nil); !errors.As(err, &input) {
		t.Errorf("%v", err)
	}
	if _, missing := os.Stat(directory); missing == nil || bareStarts.Load() != starts {
		t.Error("something was begun")
	}
}
