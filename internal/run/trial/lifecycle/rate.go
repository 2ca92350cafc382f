package lifecycle

import "context"

// SetRate sets the rate of the samples that follow, where the pack has an open loop.
func (w *Workload) SetRate(rate float64) error {
	return w.each(w.copies, func(c *Copy) (err error) {
		i := c.Driver()
		c.packs[i], err = c.load.Pack.With(c.load.Pack.AtRate(c.load.Parameters, rate), c.vars[i])
		return err
	})
}

// Try is Sample for a probe whose output is kept beside those of the samples.
func (w *Workload) Try(ctx context.Context) (Sample, error) {
	return w.sample(ctx, func(ctx context.Context, c *Copy) (CopySample, error) {
		c.half.pack = c.packs[c.Driver()]
		return c.drive(ctx, &c.half, "driver.search.")
	})
}
