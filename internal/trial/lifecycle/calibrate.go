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
	parameter := c.load.Pack.Length.Amount
	start, most := c.load.Pack.Amounts()
	began := time.Now()
	var tries []try
	for {
		amount, found := nextAmount(tries, c.find, start, most)
		if err := c.setAmount(amount); err != nil {
			return err
		}
		if found {
			c.amount = amount
			if amount == most {
				c.record.Warn(fmt.Sprintf("samples may be shorter than %v: %s is at its largest value, %d, and %s", c.find, parameter, most, triesText(tries)))
			}
			return nil
		}
		if len(tries) == mostTries || time.Since(began) > calibrationTimeout {
			return fmt.Errorf("no value of %s was found with which the driver takes %v: %s; set %s", parameter, c.find, triesText(tries), parameter)
		}
		exit, _, err := c.runDriver(ctx, rundir.Discard("driver.stdout"), rundir.Discard("driver.stderr"), io.Discard)
		if err != nil {
			return fmt.Errorf("finding %s for samples of %v, with %d: %w", parameter, c.find, amount, err)
		}
		tries = append(tries, try{amount, exit.Elapsed()})
	}
}

// nextAmount returns the amount to try next or, if found, the one to use. Two runs
// that are far enough apart give the time of a unit of work: the start of the
// driver is in both.
func nextAmount(tries []try, wanted time.Duration, start, most int64) (amount int64, found bool) {
	if len(tries) == 0 {
		return start, false
	}
	byAmount := func(a, b try) int { return cmp.Compare(a.amount, b.amount) }
	low, high := slices.MinFunc(tries, byAmount), slices.MaxFunc(tries, byAmount)
	need := min(wanted/2, longestSpan)
	if low == high {
		if high.took > 2*wanted && high.amount > 1 {
			return max(high.amount/mostGrowth, 1), false
		}
		low = try{} // the start of the driver is still unknown
	}
	span := high.took - low.took
	if span >= need && low.amount > 0 {
		per := float64(span) / float64(high.amount-low.amount)
		return min(max(int64(float64(wanted)/per+.5), 1), most), true
	}
	if high.amount == most {
		return most, true // a shorter sample
	}
	growth := float64(mostGrowth)
	if span > 0 {
		growth = min(growth, 1.5*float64(need)/float64(span)+1)
	}
	return min(max(int64(float64(high.amount)*growth), 2*high.amount), most), false
}

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

func triesText(tries []try) string {
	var texts []string
	for _, t := range tries {
		texts = append(texts, fmt.Sprintf("%v with %d", t.took.Round(10*time.Microsecond), t.amount))
	}
	return "it took " + strings.Join(texts, ", ")
}

var errNotCalibrated = errors.New("a sample was asked for before the amount of work was found")
