package study

import (
	"fmt"
	"slices"
	"testing"

	"tare/internal/base/quantity"
	"tare/internal/environment"
)

// crowd has four environments of 4 GiB an instance and one on another host.
func crowd(available quantity.Bytes) *Plan {
	p := &Plan{Baseline: "a", AvailableMemory: available, Design: Design{Order: Alternating, Rounds: 8}}
	for _, name := range []string{"a", "b", "c", "d", "far"} {
		p.Environments = append(p.Environments, Environment{Name: name, Limits: environment.Limits{Memory: 4 * quantity.GiB}})
	}
	p.Environments[4].Host = "other"
	p.Workloads = []Workload{{Name: "w", Fresh: "block", Levels: []Level{
		{Name: "n=1", Shape: Shape{Copies: 1, Together: true}},
		{Name: "n=2", Shape: Shape{Copies: 1, Roles: []RoleShape{{Name: "server", Count: 1}, {Name: "driver", Count: 1}, {Name: "far", Count: 1, OnHost: true}}}},
	}}}
	return p
}

func TestEnvironmentsTakeTurnsByTheirMemory(t *testing.T) {
	usable := []string{"a", "b", "c", "d", "far"}
	for _, c := range []struct {
		available quantity.Bytes
		change    func(*Plan)
		want      string
	}{
		{0, nil, "[[b c d far]] [[b c d far]]"},
		{40 * quantity.GiB, nil, "[[b c d far]] [[b c d far]]"},
		{32 * quantity.GiB, nil, "[[b c d far]] [[b c] [d far]]"}, // a tenth is spared
		{14 * quantity.GiB, nil, "[[b c] [d far]] [[b] [c] [d] [far]]"},
		{2 * quantity.GiB, nil, "[[b] [c] [d] [far]] [[b] [c] [d] [far]]"},
		{14 * quantity.GiB, func(p *Plan) { p.Workloads[0].Fresh = "trial" }, "[[b c d far]] [[b c d far]]"},
		{14 * quantity.GiB, func(p *Plan) { p.Design.Order = "interleaved" }, "[[b c d far]] [[b c d far]]"},
		{14 * quantity.GiB, func(p *Plan) { p.Steps = []Step{{Environment: "b", Base: "a"}} }, "[[b c d far]] [[b c d far]]"},
	} {
		p := crowd(c.available)
		if c.change != nil {
			c.change(p)
		}
		var got []any
		for _, l := range p.Workloads[0].Levels {
			got = append(got, p.Groups(p.Workloads[0], l, usable))
		}
		if text := fmt.Sprintln(got...); text != c.want+"\n" {
			t.Errorf("%s available: %s", c.available, text)
		}
	}
}

func TestWhatDoesNotFitIsSaid(t *testing.T) {
	usable := []string{"a", "b", "c"}
	for _, c := range []struct {
		available quantity.Bytes
		want      []string
	}{
		{32 * quantity.GiB, nil},
		{12 * quantity.GiB, []string{
			"w n=1: the limits of memory of all environments exceed the 12GiB that is available, so they take turns of a block each beside a: b; c",
			"w n=2: the limits of memory of all environments exceed the 12GiB that is available, so they take turns of a block each beside a: b; c",
			"w n=2: a, b may use up to 16GiB at the same time, and 12GiB is available: set a smaller limits: memory, or order: interleaved",
			"w n=2: a, c may use up to 16GiB at the same time, and 12GiB is available: set a smaller limits: memory, or order: interleaved",
		}},
	} {
		if got := crowd(c.available).Fitting(usable); !slices.Equal(got, c.want) {
			t.Errorf("%s available: %q", c.available, got)
		}
	}
}
