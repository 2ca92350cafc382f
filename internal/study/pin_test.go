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
