package usage

import "time"

// curve is a quantity that is read from time to time.
type curve struct {
	begun, at  time.Time
	last, peak float64
	area       float64 // by the trapezoidal rule
	missing    string
}

func (c *curve) add(at time.Time, f Figure) {
	if f.Missing != "" {
		c.missing = f.Missing
		return
	}
	v := f.Value
	if c.begun.IsZero() {
		c.begun, c.at, c.last, c.peak = at, at, v, v
		return
	}
	c.area += (c.last + v) / 2 * at.Sub(c.at).Seconds()
	c.at, c.last, c.peak = at, v, max(c.peak, v)
}

// figures returns the highest value, the mean, and the integral over the time
// between the first reading and the last.
func (c *curve) figures() (peak, mean, area Figure) {
	if c.begun.IsZero() {
		absent := Figure{Missing: c.missing}
		return absent, absent, absent
	}
	if span := c.at.Sub(c.begun).Seconds(); span > 0 {
		return Known(c.peak), Known(c.area / span), Known(c.area)
	}
	return Known(c.peak), Known(c.last), Known(0)
}
