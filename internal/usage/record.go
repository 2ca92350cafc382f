package usage

import "time"

// record makes readings of the kernel's counters, and keeps what they add up to.
type record struct {
	each    func(Reading)
	began   time.Time
	base    Reading // the kernel's values at the first reading
	last    Reading // without them
	highest Reading // the highest value of each counter, since none may fall
	mark    Reading // the last one before a sample
	sum     Reading // of the counters over the samples
	paused  bool    // the time since the previous reading does not count
	series  Series
	curves  [4]curve // memory, cache, threads, processes
}

// add turns the kernel's values at a moment into a reading.
func (c *record) add(r *Reading, at time.Time) {
	risen, user, system := *r, c.highest.CPUUser.Value, c.highest.CPUSystem.Value
	for i := range Quantities {
		q := &Quantities[i]
		if q.Kind != Counter {
			continue
		}
		f, highest := q.of(r), q.of(&c.highest)
		*f = f.Minus(*q.of(&c.base))
		if *q.of(&risen) = *f; f.Missing == "" {
			highest.Value = max(highest.Value, f.Value)
			q.of(&risen).Value = highest.Value
		}
	}
	// The kernel estimates the division of a group's CPU time by sampling, and
	// corrects it later. Here neither part falls, and they add up to the total.
	if all := risen.CPU.Plus(r.CPUUser).Plus(r.CPUSystem); all.Missing == "" {
		user = min(max(r.CPUUser.Value, user), risen.CPU.Value-system)
		risen.CPUUser.Value, risen.CPUSystem.Value = user, risen.CPU.Value-user
		c.highest.CPUUser.Value, c.highest.CPUSystem.Value = user, risen.CPU.Value-user
	}
	for i, f := range []Figure{r.Memory, r.Cache, r.Threads, r.Processes} {
		c.curves[i].add(at, f, !c.paused)
	}
	c.last, c.series.Began = *r, c.began
	c.series.Add(&risen)
	if c.each == nil {
		return
	}
	for i := range Quantities { // live readings have no gaps
		if f := Quantities[i].of(&risen); f.Missing == notRead {
			*f = *Quantities[i].of(&c.highest)
		}
	}
	c.each(risen)
}

// addSample adds what the counters grew by since the mark. It returns the CPU time.
func (c *record) addSample() Figure {
	for i := range Quantities {
		if q := &Quantities[i]; q.Kind == Counter {
			sum := q.of(&c.sum)
			*sum = sum.Plus(q.of(&c.last).Minus(*q.of(&c.mark)))
		}
	}
	return c.last.CPU.Minus(c.mark.CPU)
}

// useSum puts the sums over the samples in place of the last reading.
func (c *record) useSum() {
	if all := c.sum.CPU; all.Missing == "" && c.sum.CPUUser.Missing == "" {
		user := min(max(c.sum.CPUUser.Value, 0), all.Value)
		c.sum.CPUUser.Value, c.sum.CPUSystem.Value = user, all.Value-user
	}
	c.last = c.sum
}

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
