package lifecycle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/lists"
	"tare/internal/rundir"
	"tare/internal/workload"
)

const (
	// longestSpan is how far apart in time two runs of the driver need to be at
	// most: a longer sample is extrapolated.
	longestSpan = 250 * time.Millisecond
	// mostGrowth bounds the step to the next amount: the first runs are short, and
	// their times differ by chance as much as by the amount.
	mostGrowth = 10
	// sameWork is by which factor an environment may be slower or faster than another
	// one and do the same work in a sample. Searches on a busy machine were off by 2
	// between equal environments, and a longer sample costs no more than that.
	sameWork = 3
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
// driver does not keep that itself and the amount is not known from before. That of
// another environment is used if it fits: samples that do the same work differ by the
// environments alone, whatever part of them is ramp-up.
func (c *Copy) calibrate(ctx context.Context) error {
	if c.find == 0 || c.amount > 0 {
		return nil
	}
	s := search{wanted: c.find}
	s.start, s.most = c.load.Pack.Amounts()
	parameter := c.load.Pack.Length.Amount
	run := func(amount int64) (time.Duration, error) {
		if err := c.setAmount(amount); err != nil {
			return 0, err
		}
		exit, _, err := c.runDriver(ctx, c.packs[c.Driver()], rundir.Discard("driver.stdout"), rundir.Discard("driver.stderr"), io.Discard)
		if err != nil {
			return 0, fmt.Errorf("finding %s for samples of %v, with %d: %w", parameter, c.find, amount, err)
		}
		return exit.Elapsed(), nil
	}
	if c.like.amount > 0 {
		took, err := run(c.like.amount)
		if err != nil || within(sameWork, took, c.like.took) {
			return errors.Join(err, c.use(c.like.amount, took))
		}
		s.add(try{c.like.amount, took}, false)
	}
	amount, certain, err := s.run(run)
	switch {
	case err != nil:
		return err
	case amount == 0:
		return fmt.Errorf("no value of %s was found with which the driver takes %v: %s; set %s", parameter, c.find, &s, parameter)
	case c.like.amount > 0 && within(sameWork, amount, c.like.amount):
		return c.use(c.like.amount, s.length(c.like.amount))
	case !certain:
		c.record.Warn(fmt.Sprintf("samples may be longer or shorter than %v: the times of the driver varied too much to find %s exactly. It is %d, a robust estimate: %s", c.find, parameter, amount, &s))
	case amount == s.most:
		c.record.Warn(fmt.Sprintf("samples may be shorter than %v: %s is at its largest value, %d, and %s", c.find, parameter, amount, &s))
	}
	length := c.find
	if certain {
		length = s.length(amount)
	}
	return c.use(amount, length)
}

// use makes samples of an amount that is expected to take so long.
func (c *Copy) use(amount int64, length time.Duration) error {
	c.amount, c.length = amount, length
	return c.setAmount(amount)
}

// search finds the amount of work that takes the wanted time.
type search struct {
	wanted      time.Duration
	start, most int64
	all         []try
	tries       []try // runs whose times are believed
}

// run makes runs until the amount is known. Where the times are too noisy for that, the
// amount is an estimate from all runs, and not certain; 0 where no run took any time.
func (s *search) run(measure func(amount int64) (time.Duration, error)) (amount int64, certain bool, err error) {
	for began := time.Now(); ; {
		amount, estimated := s.next()
		late := time.Since(began) > calibrationTimeout
		switch {
		case estimated && (late || s.certain(amount)):
			return amount, true, nil
		case late || len(s.all) == mostTries:
			return s.robust(), false, nil
		}
		took, err := measure(amount)
		if err != nil {
			return 0, false, err
		}
		if s.add(try{amount, took}, estimated) {
			return amount, true, nil
		}
	}
}

// robust is an estimate from all runs. A disturbance makes a run longer, so the fastest
// run is the least disturbed one. The time of a unit of work is the median over the runs
// that are far enough from it.
func (s *search) robust() int64 {
	fastest := slices.MinFunc(s.all, func(a, b try) int { return cmp.Compare(a.took, b.took) })
	var per []float64
	for _, t := range s.all {
		if t.amount > fastest.amount && t.took-fastest.took >= s.need() {
			per = append(per, float64(t.took-fastest.took)/float64(t.amount-fastest.amount))
		}
	}
	if len(per) == 0 {
		timed := lists.Filter(s.all, func(t try) bool { return t.took > 0 })
		per = lists.Map(timed, func(t try) float64 { return float64(t.took) / float64(t.amount) })
	}
	if len(per) == 0 {
		return 0
	}
	slices.Sort(per)
	return s.bounded(float64(s.wanted) / per[len(per)/2])
}

// bounded is a valid amount.
func (s *search) bounded(amount float64) int64 {
	return int64(min(max(math.Round(amount), 1), float64(s.most)))
}

// length is how long a run with the amount takes, with the start of the driver.
func (s *search) length(amount int64) time.Duration {
	low, high := s.ends()
	if per, known := s.perUnit(); known {
		return max(low.took+time.Duration(per*float64(amount-low.amount)), 0)
	}
	if amount == high.amount {
		return high.took
	}
	return s.wanted
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
		return s.bounded(float64(s.wanted) / per), true
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
	s.all = append(s.all, t)
	if estimated {
		low, high := s.ends()
		per, _ := s.perUnit()
		work, wanted := float64(t.took-low.took)+per*float64(low.amount), float64(s.wanted)
		if within(1.5, work, wanted) || t.amount == 1 && work > wanted {
			return true
		}
		s.tries = slices.DeleteFunc(s.tries, func(other try) bool { return other == high })
	}
	s.tries = append(s.tries, t)
	return false
}

func (s *search) String() string {
	return "it took " + strings.Join(lists.Map(s.all, func(t try) string { return fmt.Sprintf("%v with %d", t.took.Round(10*time.Microsecond), t.amount) }), ", ")
}

// within says whether two values differ by less than a factor.
func within[T int64 | float64 | time.Duration](factor float64, a, b T) bool {
	return float64(a) > float64(b)/factor && float64(a) < float64(b)*factor
}

// setAmount makes the driver's command with an amount.
func (c *Copy) setAmount(amount int64) (err error) {
	c.packs[c.Driver()], err = c.withAmount(amount)
	return err
}

func (c *Copy) withAmount(amount int64) (workload.Pack, error) {
	parameters := maps.Clone(c.load.Parameters)
	if parameters == nil {
		parameters = map[string]string{}
	}
	parameters[c.load.Pack.Length.Amount] = strconv.FormatInt(amount, 10)
	return c.load.Pack.With(parameters, c.vars[c.Driver()])
}

var errNotCalibrated = errors.New("a sample was asked for before the amount of work was found")
