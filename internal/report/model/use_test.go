package model

import (
	"testing"

	"tare/internal/subject"
	"tare/internal/usage"
)

func TestTheUseOfACellIsTheMedianOfTheTrialsThatHaveIt(t *testing.T) {
	at := subject.Cell{Environment: "docker"}
	read := func(u *usage.Usage) usage.Figure { return u.DiskRead }
	for _, c := range []struct {
		figures []usage.Figure
		want    usage.Figure
	}{
		{[]usage.Figure{usage.Known(1), usage.Known(7), usage.Known(2)}, usage.Known(2)},
		{[]usage.Figure{usage.Absent("no disk"), usage.Known(4), usage.Known(6)}, usage.Known(5)},
		{[]usage.Figure{usage.Absent("no disk"), usage.Absent("no kernel"), usage.Absent("no kernel")}, usage.Absent("no kernel")},
	} {
		v := &Report{Usages: map[subject.Cell][]*usage.Usage{}}
		for _, f := range c.figures {
			v.Usages[at] = append(v.Usages[at], &usage.Usage{DiskRead: f})
		}
		if got := v.Use(at, read); got != c.want {
			t.Errorf("%v: got %v, want %v", c.figures, got, c.want)
		}
	}
}
