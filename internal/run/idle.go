package run

import (
	"context"
	"fmt"
	"time"

	"tare/internal/usage"
)

// idlePressure is the CPU pressure below which the machine counts as idle: the
// share of time in which something waited for a CPU.
const idlePressure = 0.10

// rest waits before a batch as long as its workload asks for.
func (e *execution) rest(ctx context.Context, l *lane) error {
	slot := l.batch.Slots[0]
	pause := l.pause(e.Plan.Workload(slot.Workload).Pause)
	if pause <= 0 {
		return nil
	}
	e.progress(Event{Kind: Waiting, Slot: &slot, Message: fmt.Sprintf("%v of rest before %s", pause, slot.Cell().Place())})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(pause):
		return nil
	}
}

// pause is how long the lane rests before its batch, of which the budget has so much less.
// Before the first batch nothing has to end.
func (l *lane) pause(asked time.Duration) time.Duration {
	if !l.rested || asked <= 0 {
		l.rested = true
		return 0
	}
	if left := l.batch.Left; left > 0 {
		asked = min(asked, left-1)
		l.batch.Left -= asked // 0 would be no budget
	}
	return asked
}

// waitUntilIdle waits until the machine is idle, at most as long as the design
// says.
func (e *execution) waitUntilIdle(ctx context.Context) error {
	if e.Plan.Design.Quiet <= 0 || e.elsewhere {
		return nil
	}
	deadline := time.Now().Add(e.Plan.Design.Quiet)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	before := usage.ReadHost()
	for announced := false; ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		now := usage.ReadHost()
		p := usage.Between(before, now)
		before = now
		if p.CPU == nil || *p.CPU < idlePressure || time.Now().After(deadline) {
			return nil
		}
		if !announced {
			announced = true
			e.progress(Event{Kind: Waiting, Message: fmt.Sprintf("the machine is busy (CPU pressure %.0f%%): waiting up to %v until it is idle", *p.CPU*100, e.Plan.Design.Quiet)})
		}
	}
}
