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
