package run

import (
	"testing"
	"time"

	"tare/internal/run/schedule"
)

func TestAPauseBeginsWithTheSecondBatchAndCountsInTheBudget(t *testing.T) {
	l := &lane{}
	if got := l.pause(time.Minute); got != 0 {
		t.Errorf("%v before the first batch", got)
	}
	if got := l.pause(time.Minute); got != time.Minute {
		t.Errorf("%v without a budget", got)
	}
	l.batch = schedule.Batch{Left: 3 * time.Minute}
	if got := l.pause(time.Minute); got != time.Minute || l.batch.Left != 2*time.Minute {
		t.Errorf("%v, and the budget has %v left", got, l.batch.Left)
	}
	if got := l.pause(time.Hour); got >= 2*time.Minute || l.batch.Left <= 0 {
		t.Errorf("%v, and the budget has %v left: it must end, and not become none", got, l.batch.Left)
	}
	if got := l.pause(0); got != 0 {
		t.Errorf("%v where the study asks for none", got)
	}
}
