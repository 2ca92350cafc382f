package model_test

import (
	"fmt"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

func TestAnUnusualSamplingIsReported(t *testing.T) {
	in := reporttest.Quick()
	told := func() string { v := model.New(in); return fmt.Sprint(v.Notes, v.Made()) }
	if strings.Contains(told(), "rate off") {
		t.Error("the usual sampling is told")
	}
	in.Plan.Sampling.Off = true
	for _, want := range []string{"rate off: one reading at the start", "rate off: peaks are not recorded"} {
		if !strings.Contains(told(), want) {
			t.Errorf("there is no %q", want)
		}
	}
}

func TestTheReportSaysThatCoresWereLeftUnused(t *testing.T) {
	one, two := map[string][]int{"server": {0}, "driver": {0}}, map[string][]int{"server": {0}, "driver": {1}}
	for _, c := range []struct {
		pin   map[string][]int
		cores int
		want  string
	}{
		{one, 4, "driver to core 0, server to core 0: 1 of the machine's 4 cores, so rates are those of 1 core"},
		{two, 8, "driver to core 1, server to core 0: 2 of the machine's 8 cores, so rates are those of 2 cores"},
		{two, 2, "driver to core 1, server to core 0"},
		{one, 0, "driver to core 0, server to core 0"}, // a run directory that does not say
		{nil, 4, ""},
	} {
		in := reporttest.Quick()
		in.Plan.Pin, in.Manifest.Machine.Cores = c.pin, c.cores
		got := ""
		for _, fact := range model.New(in).Made() {
			if fact.Name == "pinned" {
				got = fact.Text
			}
		}
		if got != c.want {
			t.Errorf("%v on %d cores: %q", c.pin, c.cores, got)
		}
	}
}
