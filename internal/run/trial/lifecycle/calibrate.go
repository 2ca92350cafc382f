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
	"time"

	"tare/internal/base/lists"
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
	// about is by which factor times may differ from what is expected.
	about = 1.5
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
// another environment is used if it fits, or if a smaller one would hardly save time:
// samples that do the same work differ by the environments alone, whatever part of them
// is ramp-up.
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
	if like := c.like.amount; like > 0 {
		took, err := run(like)
		if err != nil || within(sameWork, took, c.like.took) {
			return errors.Join(err, c.use(like, took))
		}
		s.add(try{like, took}, false)
		if took > c.like.took {
			less := s.fewer(try{like, took})
			short, err := run(less)
			if err != nil || float64(took) < about*float64(short) {
				return errors.Join(err, c.use(like, took))
			}
			s.add(try{less, short}, false)
		}
	}
	amount, certain, err := s.run(run)
	switch {
	case err != nil:
		return err
	case amount == 0:
		return fmt.Errorf("no value of %s was found with which the driver takes %v: %s; set %s", parameter, c.find, &s, parameter)
	case c.like.amount > 0 && within(sameWork, amount, c.like.amount):
		amount = c.like.amount
	case !certain:
		c.record.Warn(fmt.Sprintf("samples may be longer or shorter than %v: the times of %d runs of the driver varied too much to find %s exactly, and %d is an estimate", c.find, len(s.all), parameter, amount))
	case amount == s.most:
		c.record.Warn(fmt.Sprintf("samples may be shorter than %v: %s is at its largest value, %d, which takes %v", c.find, parameter, amount, s.length(amount).Round(10*time.Microsecond)))
	}
	length := s.length(amount)
	if !certain {
		length = s.fastest().took + s.wanted
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

// robust is an estimate from all runs: the time of a unit of work is the median over
// those that are far enough from the fastest one.
func (s *search) robust() int64 {
	fastest := s.fastest()
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
		start := max(float64(low.took)-per*float64(low.amount), 0)
		return time.Duration(start + per*float64(amount))
	}
	if amount == high.amount {
		return high.took
	}
	return s.wanted
}

// fastest is the least disturbed run: a disturbance makes a run longer.
func (s *search) fastest() try {
	return slices.MinFunc(s.all, func(a, b try) int { return cmp.Compare(a.took, b.took) })
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

// need is how much longer one run has to be than another: more than the times of
// starts of the driver differ.
func (s *search) need() time.Duration {
	low, _ := s.ends()
	return max(min(s.wanted/2, longestSpan), low.took/2)
}

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
			return s.fewer(high), false
		}
		low = try{} // the start of the driver is still unknown
	}
	if high.amount == s.most {
		return s.most, true // a shorter sample
	}
	// The amount that the runs suggest, if it is far enough from them to tell more.
	growth := float64(mostGrowth)
	if span := float64(high.took - low.took); span > 0 {
		suggested := float64(min(s.wanted, 2*longestSpan)) / span * float64(high.amount-low.amount) / float64(high.amount)
		growth = min(growth, max(suggested, 1.5*float64(s.need())/span))
	}
	return min(max(int64(float64(high.amount)*growth), 2*high.amount), s.most), false
}

// fewer is the amount that takes the wanted time at the rate of a run.
func (s *search) fewer(than try) int64 {
	return s.bounded(float64(than.amount) * float64(s.wanted) / float64(than.took))
}

// certain says whether an estimated amount is used without a run that checks it:
// the last run was no shorter than wanted and did about as much, or lies with a longer one
// on both sides of it; a run is too long, or there is no larger amount.
func (s *search) certain(amount int64) bool {
	low, high := s.ends()
	last := s.all[len(s.all)-1]
	checked := float64(last.took)*about > float64(s.wanted) && (within(about, last.amount, amount) || last == low && amount >= low.amount && amount <= high.amount)
	return checked || s.wanted >= 2*longestSpan || amount == s.most
}

// add takes the time of a run. An estimated amount is found if its run took about as
// long as wanted, or longer with the smallest amount; if not, the start of the driver
// or the longest run was disturbed.
func (s *search) add(t try, estimated bool) (found bool) {
	s.all = append(s.all, t)
	if estimated {
		_, high := s.ends()
		if within(about, t.took, s.length(t.amount)) || t.amount == 1 && t.took > s.wanted {
			return true
		}
		s.tries = slices.DeleteFunc(s.tries, func(other try) bool { return other == high })
	}
	s.tries = append(s.tries, t)
	return false
}

func (s *search) String() string {
	last := s.all[len(s.all)-1]
	return fmt.Sprintf("the last of %d runs took %v with %d", len(s.all), last.took.Round(10*time.Microsecond), last.amount)
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
