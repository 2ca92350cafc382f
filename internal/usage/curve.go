package usage

import "time"

// curve is a quantity that is read from time to time.
type curve struct {
	begun, at  time.Time
	span       float64 // that counts
	last, peak float64
	area       float64 // by the trapezoidal rule
	missing    string
}

// add adds a reading. counts is false if the time since the previous one does not
// count.
func (c *curve) add(at time.Time, f Figure, counts bool) {
	if f.Missing != "" {
		c.missing = f.Missing
		return
	}
	v := f.Value
	if c.begun.IsZero() {
		c.begun, c.at, c.last, c.peak = at, at, v, v
		return
	}
	if took := at.Sub(c.at).Seconds(); counts {
		c.span += took
		c.area += (c.last + v) / 2 * took
	}
	c.at, c.last, c.peak = at, v, max(c.peak, v)
}

// figures returns the highest value, the mean, and the integral over the time that
// counts.
func (c *curve) figures() (peak, mean, area Figure) {
	if c.begun.IsZero() {
		absent := Figure{Missing: c.missing}
		return absent, absent, absent
	}
	if c.span > 0 {
		return Known(c.peak), Known(c.area / c.span), Known(c.area)
	}
	return Known(c.peak), Known(c.last), Known(0)
}
