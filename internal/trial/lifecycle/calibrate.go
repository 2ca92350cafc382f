package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/rundir"
)

const (
	// longestSpan is how far apart in time two runs of the driver need to be at
	// most: a longer sample is extrapolated.
	longestSpan = 250 * time.Millisecond
	// mostGrowth bounds the step to the next amount: the first runs are short, and
	// their times differ by chance as much as by the amount.
	mostGrowth = 10
	// The bounds of a calibration.
	mostTries          = 12
	calibrationTimeout = 2 * time.Minute
)

// try is one run of the driver with an amount of work.
type try struct {
	amount int64
	took   time.Duration // by the instance's clock
}

// calibrate finds the amount of work for the wanted length of a sample, where the
// driver does not keep that itself.
func (c *Copy) calibrate(ctx context.Context) error {
	if c.find == 0 {
		return nil
	}
	s := search{wanted: c.find}
	s.start, s.most = c.load.Pack.Amounts()
	parameter := c.load.Pack.Length.Amount
	began := time.Now()
	for {
		amount, estimated := s.next()
		if err := c.setAmount(amount); err != nil {
			return err
		}
		last := s.runs == mostTries || time.Since(began) > calibrationTimeout
		switch {
		case estimated && (last || s.certain(amount)):
			return c.found(amount, s)
		case last:
			return fmt.Errorf("no value of %s was found with which the driver takes %v: %s; set %s", parameter, c.find, s, parameter)
		}
		exit, _, err := c.runDriver(ctx, rundir.Discard("driver.stdout"), rundir.Discard("driver.stderr"), io.Discard)
		if err != nil {
			return fmt.Errorf("finding %s for samples of %v, with %d: %w", parameter, c.find, amount, err)
		}
		if s.add(try{amount, exit.Elapsed()}, estimated) {
			return c.found(amount, s)
		}
	}
}

// found keeps the amount, which the driver's command has.
func (c *Copy) found(amount int64, s search) error {
	c.amount = amount
	if amount == s.most {
		c.record.Warn(fmt.Sprintf("samples may be shorter than %v: %s is at its largest value, %d, and %s", c.find, c.load.Pack.Length.Amount, amount, s))
	}
	return nil
}

// search finds the amount of work that takes the wanted time.
type search struct {
	wanted      time.Duration
	start, most int64
	runs        int
	tries       []try // runs whose times are believed
	texts       []string
}

// ends are the believed runs with the smallest and the largest amount.
func (s *search) ends() (low, high try) {
	byAmount := func(a, b try) int { return cmp.Compare(a.amount, b.amount) }
	return slices.MinFunc(s.tries, byAmount), slices.MaxFunc(s.tries, byAmount)
}

// perUnit is the time of a unit of work: of two runs that are far enough apart, the
// start of the driver is in both.
func (s *search) perUnit() (per float64, known bool) {
	low, high := s.ends()
	if high.took-low.took < s.need() {
		return 0, false
	}
	return float64(high.took-low.took) / float64(high.amount-low.amount), true
}

func (s *search) need() time.Duration { return min(s.wanted/2, longestSpan) }

// next returns the amount to try or, if estimated, one that takes the wanted time.
func (s *search) next() (amount int64, estimated bool) {
	if len(s.tries) == 0 {
		return s.start, false
	}
	low, high := s.ends()
	if per, known := s.perUnit(); known {
		return min(max(int64(float64(s.wanted)/per+.5), 1), s.most), true
	}
	if low == high {
		if high.took > 2*s.wanted && high.amount > 1 {
			return max(high.amount/mostGrowth, 1), false
		}
		low = try{} // the start of the driver is still unknown
	}
	if high.amount == s.most {
		return s.most, true // a shorter sample
	}
	growth := float64(mostGrowth)
	if span := high.took - low.took; span > 0 {
		growth = min(growth, 1.5*float64(s.need())/float64(span)+1)
	}
	return min(max(int64(float64(high.amount)*growth), 2*high.amount), s.most), false
}

// certain says whether an estimated amount is used without a run that checks it:
// a run is too long, or there is no larger amount.
func (s *search) certain(amount int64) bool { return s.need() == longestSpan || amount == s.most }

// add takes the time of a run. An estimated amount is found if its run took about as
// long as wanted, or longer with the smallest amount; if not, the start of the driver
// or the longest run was disturbed.
func (s *search) add(t try, estimated bool) (found bool) {
	s.runs++
	s.texts = append(s.texts, fmt.Sprintf("%v with %d", t.took.Round(10*time.Microsecond), t.amount))
	if estimated {
		low, high := s.ends()
		per, _ := s.perUnit()
		work, wanted := float64(t.took-low.took)+per*float64(low.amount), float64(s.wanted)
		if near(work, wanted) || t.amount == 1 && work > wanted {
			return true
		}
		s.tries = slices.DeleteFunc(s.tries, func(other try) bool { return other == high })
	}
	s.tries = append(s.tries, t)
	return false
}

func (s search) String() string { return "it took " + strings.Join(s.texts, ", ") }

// near is within the tolerance of an estimate.
func near(a, b float64) bool { return a > b/1.5 && a < b*1.5 }

// setAmount makes the driver's command with an amount.
func (c *Copy) setAmount(amount int64) (err error) {
	parameters := maps.Clone(c.load.Parameters)
	if parameters == nil {
		parameters = map[string]string{}
	}
	parameters[c.load.Pack.Length.Amount] = strconv.FormatInt(amount, 10)
	i := c.Driver()
	c.packs[i], err = c.load.Pack.With(parameters, c.vars[i])
	return err
}

var errNotCalibrated = errors.New("a sample was asked for before the amount of work was found")
