package lifecycle

import (
	"context"
	"fmt"
	"time"
)

// Halve prepares samples of half the length. It returns which share of the work, or of
// the time, they have: 0 where there are none, since the study sets the work of a sample,
// or the driver cannot do half of it.
func (w *Workload) Halve() (share float64) {
	for _, c := range w.copies {
		one := c.halve()
		if one == 0 {
			return 0
		}
		share += one / float64(len(w.copies))
	}
	return share
}

// HalfSample is Sample with half the length, after Halve.
func (w *Workload) HalfSample(ctx context.Context) (Sample, error) {
	return w.sample(ctx, func(ctx context.Context, c *Copy) (CopySample, error) { return c.drive(ctx, &c.half, "driver.half.") })
}

// halve makes the driver's command for half the amount or time.
func (c *Copy) halve() (share float64) {
	pack, length := c.load.Pack, c.load.Pack.Length
	var err error
	switch {
	case length == nil || c.amount == 0 && pack.Amount(c.load.Parameters) > 0:
		return 0
	case c.find > 0:
		half := c.amount / 2
		if half == 0 {
			return 0
		}
		c.half.pack, err = c.withAmount(half)
		share = float64(half) / float64(c.amount)
	default:
		// The driver keeps the time itself, in whole ms at most.
		whole := pack.SampleLength(c.load.Parameters)
		half := (whole / 2).Truncate(time.Millisecond)
		parameters, find, wrong := pack.WithSample(c.load.Parameters, half)
		if wrong != nil || find > 0 || half <= 0 {
			return 0
		}
		c.half.pack, err = pack.With(parameters, c.vars[c.Driver()])
		share = float64(half) / float64(whole)
	}
	if err != nil {
		c.record.Warn(fmt.Sprintf("no samples of half the length: %v", err))
		return 0
	}
	return share
}
