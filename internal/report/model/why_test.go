package model_test

import (
	"testing"

	"tare/internal/report/model"
	"tare/internal/study"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
)

// Without an interval nothing is known of a part: not even that it is not material.
func TestWithoutIntervalsPartsHaveNoSentences(t *testing.T) {
	for _, c := range []struct {
		blocks int
		design study.Blocks
		want   string
	}{
		{3, study.Blocks{Min: 3, Max: 3, Fixed: true}, "No part has an interval after 3 blocks; an interval takes at least 4."},
		{1, study.Blocks{Min: 4, Max: 60}, "No part has an interval after 1 block; an interval takes at least 4."},
	} {
		in := reporttest.Ladder()
		in.Plan.Design.Blocks = c.design
		in.Trials = in.Trials[:c.blocks*len(in.Plan.Environments)]
		in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
		v := model.New(in)
		if got := v.WhySentences(v.Why[0]); got[0] != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
