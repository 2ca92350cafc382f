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
