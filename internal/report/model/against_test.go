package model_test

import (
	"testing"

	"tare/internal/report/model"
)

func TestComparedDescribesTheTwoRatios(t *testing.T) {
	for _, test := range []struct {
		row  model.AgainstRow
		want string
	}{
		{model.AgainstRow{Published: -.1, Measured: -.12, Low: -.15, High: -.05, Bounded: true}, "inside the interval"},
		{model.AgainstRow{Published: -.3, Measured: -.12, Low: -.15, High: -.05, Bounded: true}, "same direction"},
		{model.AgainstRow{Published: .3, Measured: -.12, Low: -.15, High: -.05, Bounded: true}, "opposite direction"},
		{model.AgainstRow{Published: .3, Measured: .01, Low: -.05, High: .05, Bounded: true}, "outside the interval; no change measured"},
		{model.AgainstRow{Published: .3, Measured: .01}, "same direction"},
		{model.AgainstRow{Measured: .03, Low: .02, High: .04, Bounded: true}, "no change published"},
		{model.AgainstRow{Published: .3}, "no change measured"},
	} {
		if got := test.row.Compared(); got != test.want {
			t.Errorf("%+v: %s, want %s", test.row, got, test.want)
		}
	}
}
