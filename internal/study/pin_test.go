package study

import (
	"strings"
	"testing"
)

func TestADriverThatKeepsARateShouldNotShareACore(t *testing.T) {
	const shared = "driver and server share core 0"
	for text, want := range map[string]string{
		"workloads: [{use: nginx-open}]":                                                   shared,
		"workloads: [{use: nginx-open, find: capacity, objective: 'p99 <= 50ms'}]":         shared,
		"workloads: [{use: nginx}]":                                                        "",
		"workloads: [{use: nginx-open, place: {driver: host}}]":                            "",
		"limits: {pin: {server: [0], driver: [1]}}\nworkloads: [{use: nginx-open}]":        "",
		"limits: {pin: none}\nworkloads: [{use: nginx-open}]":                              "",
		"workloads: [{use: nginx, as: closed}, {use: nginx-open, as: open, rate: [5, 9]}]": "workload open: " + shared,
	} {
		p, err := resolveText(t, "study: x\nenvironments: {native: {}, docker: {}}\n"+text+"\n", Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		p.ShareCore([]int{0, 1})
		got := strings.Join(p.LateDrivers(), "\n")
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q", text, got)
		}
		p.Core = nil // as with four cores
		if got := p.LateDrivers(); len(got) > 0 {
			t.Errorf("%s: with cores for each: %q", text, got)
		}
	}
}

func TestADriverIsOnTheServersCoreWhereThePlanPutsItThere(t *testing.T) {
	for text, want := range map[string]bool{
		"workloads: [{use: nginx}]": true, // with two cores
		"limits: {pin: {server: [0], driver: [0]}}\nworkloads: [{use: nginx, place: {driver: host}}]": true,
		"limits: {pin: {server: [0], driver: [1]}}\nworkloads: [{use: nginx}]":                        false,
		"limits: {pin: none}\nworkloads: [{use: nginx}]":                                              false,
		"limits: {pin: {driver: [0]}}\nworkloads: [{use: syscalls}]":                                  false, // no server
	} {
		p, err := resolveText(t, "study: x\nenvironments: {native: {}, docker: {}}\n"+text+"\n", Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		p.ShareCore([]int{0, 1})
		if got := p.DrivesOnServersCore(&p.Workloads[0]); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

func TestAPlanSaysWhichRolesHaveCoresOfTheirOwn(t *testing.T) {
	for text, want := range map[string][2]string{ // with two cores, and with many
		"use: nginx":                        {"auto: driver and servers to core 0", "auto: driver and servers to a half of the cores each"},
		"use: nginx, place: {driver: host}": {},
		"use: syscalls":                     {"auto: driver and servers to core 0", "auto: a driver alone to as many cores as it can use"},
		"use: nginx, instances: [1, 2]":     {},
		"use: nginx}, {use: redis, as: outside, place: {driver: host}": {"auto: driver and servers to core 0 in nginx", "auto: driver and servers to a half of the cores each in nginx"},
	} {
		p, err := resolveText(t, "study: x\nenvironments: {native: {}, docker: {}}\nworkloads: [{"+text+"}]\n", Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		many := p.Pinned()
		p.ShareCore([]int{0, 1})
		if got := [2]string{p.Pinned(), many}; got != want {
			t.Errorf("%s: %q", text, got)
		}
	}
}
