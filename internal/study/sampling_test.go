package study

import (
	"strings"
	"testing"
	"time"

	"tare/internal/usage"
)

func TestTheRateOfSamplingIsRead(t *testing.T) {
	const head = "study: x\nbaseline: native\nenvironments: {native: {}}\nworkloads: [{use: redis}]\n"
	for text, want := range map[string]time.Duration{
		"":                      100 * time.Millisecond,
		"sampling: {}":          100 * time.Millisecond,
		"sampling: {rate: 1}":   time.Second,
		"sampling: {rate: 100}": 10 * time.Millisecond,
		"sampling: {rate: 2.5}": 400 * time.Millisecond,
		"sampling: {rate: off}": usage.Never,
		"sampling: {rate: 'off', syscalls: true}": usage.Never,
		"sampling: {rate: 10, syscalls: false}":   100 * time.Millisecond,
	} {
		plan, err := Resolve(&File{Origin: "test.yaml", Name: "test", Source: []byte(head + text + "\n")}, Overrides{})
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := plan.Sampling.Every(); got != want {
			t.Errorf("%s: every %v, want %v", text, got, want)
		}
		valid(t, "study.schema.json", head+text+"\n", true)
	}
	for text, want := range map[string]string{
		"sampling: {rate: 0}":    "rate: must be 1 to 100",
		"sampling: {rate: 101}":  "rate: must be 1 to 100",
		"sampling: {rate: fast}": "test.yaml:5:18",
		"sampling: {speed: 1}":   "speed",
		"sampling: {traced: -1}": "traced: must be 0 to 100",
	} {
		_, err := Resolve(&File{Origin: "test.yaml", Name: "test", Source: []byte(head + text + "\n")}, Overrides{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
		valid(t, "study.schema.json", head+text+"\n", false)
	}
}

func TestUnusualSamplingIsDescribed(t *testing.T) {
	for want, s := range map[string]Sampling{
		"":                              {Rate: 10},
		"readings 2.5 times per second": {Rate: 2.5},
		"rate off: one reading at the start and one at the end; system calls counted in every trial": {Off: true, Syscalls: true},
		"1 traced trial after the blocks":                                 {Traced: 1},
		"readings 100 times per second; 3 traced trials after the blocks": {Rate: 100, Traced: 3},
	} {
		if got := s.Words(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
