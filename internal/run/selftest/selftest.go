// Package selftest checks tare's procedure on this machine by effects that are
// known: the same environment several times, with an exactly counted amount of
// more work, a smaller CPU quota, or a delay of each request. It repeats whole runs with alternating
// samples and, in the same minutes, the usual practice, and counts how often each
// was wrong.
//
// It must not know how a run is executed, nor take a decision of its own about
// tare's samples: it makes plans, hands them to package run, and reads the verdicts
// of package verdict.
package selftest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"tare/internal/base/quantity"
	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/study"
)

// Options are what to check, and for how long.
type Options struct {
	Run          run.Options // home, version and command; its Directory is that of all runs, "" keeps none
	Time         time.Duration
	Cycle        time.Duration // at most, of an environment
	NoUsual      bool          // leave out the usual practice, which takes half of a cycle
	Environments []string      // NAME or NAME+OPTION=VALUE...
	Effects      []string      // more work in percent, quota or delay
	Margin       string
	Sample       time.Duration
}

// The defaults of a command line.
var (
	DefaultEffects = []string{"0", "1", "2", "3", "5", "10", quota, delay}
	DefaultSample  = 50 * time.Millisecond
	DefaultCycle   = 5 * time.Minute
)

const (
	// quota is the effect of a smaller CPU quota, delay that of a server that answers
	// each request later.
	quota = "quota"
	delay = "delay"
	// answer is how long the server of the baseline takes for a request, and later
	// how much longer it takes with a delay.
	answer = 200 * time.Microsecond
	later  = 10 * time.Microsecond
	// shortestSample still exceeds the quota of a period, and is long against the
	// clock and the start of the driver.
	shortestSample = 20 * time.Millisecond
	longestSample  = 10 * time.Second
	// mostWork is the largest effect in percent.
	mostWork = 1000
)

// Effect is a known difference from the baseline.
type Effect struct {
	Name  string  // as written on the command line
	Work  float64 // more work, as a share: 0.05
	Quota float64 // of CPUs; 0 is none
	Delay time.Duration
	// environment of the plan that has the effect.
	environment string
}

// String is the effect for people: "+5%".
func (e Effect) String() string {
	switch {
	case e.Quota > 0:
		return fmt.Sprintf("%.2g CPUs", e.Quota)
	case e.Delay > 0:
		return fmt.Sprintf("+%v", e.Delay)
	}
	return "+" + e.Name + "%"
}

// Test is a test that was checked and can start.
type Test struct {
	options  Options
	margin   float64
	subjects []subject
}

// subject is an environment that is compared with itself under a load.
type subject struct {
	name    string // as on the command line
	draft   study.DraftEnvironment
	load    *load
	effects []Effect
}

// New checks the options. Its errors are about invalid ones; nothing was started.
func New(o Options) (*Test, error) {
	t := &Test{options: o}
	switch {
	case o.Time <= 0:
		return nil, fmt.Errorf("--time %v: must be more than 0", o.Time)
	case o.Cycle <= 0:
		return nil, fmt.Errorf("--cycle %v: must be more than 0", o.Cycle)
	case o.Sample < shortestSample || o.Sample > longestSample:
		return nil, fmt.Errorf("--sample %v: must be from %v to %v", o.Sample, shortestSample, longestSample)
	}
	if o.Run.Directory != "" {
		if err := rundir.Vacant(o.Run.Directory); err != nil {
			return nil, err
		}
	}
	margin, err := quantity.ParseShare(o.Margin)
	if err != nil {
		return nil, fmt.Errorf("--margin: %w", err)
	}
	if margin <= 0 || margin >= 1 {
		return nil, fmt.Errorf("--margin %s: must lie between 0%% and 100%%, such as 2%%", o.Margin)
	}
	t.margin = float64(margin)
	known, effects := map[string]int{}, map[*load][]Effect{}
	for _, text := range o.Effects {
		e, err := parseEffect(text, o.Sample)
		if err != nil {
			return nil, err
		}
		known[e.Name]++
		e.environment = environmentOf(e, known[e.Name])
		effects[e.load()] = append(effects[e.load()], e)
	}
	if len(o.Effects) == 0 {
		return nil, fmt.Errorf("--effects: name at least one, such as 0")
	}
	seen := map[string]bool{}
	for _, name := range o.Environments {
		if seen[name] {
			return nil, fmt.Errorf("--environment %s: is named twice", name)
		}
		seen[name] = true
		e, err := study.ParseEnvironment(name)
		if err != nil {
			return nil, fmt.Errorf("--environment %s: %w", name, err)
		}
		for _, l := range []*load{&work, &requests} {
			if len(effects[l]) == 0 {
				continue
			}
			s := subject{name, e, l, effects[l]}
			// The rules of studies check the rest.
			if _, err := t.alternating(s, 100, 0); err != nil {
				return nil, fmt.Errorf("--environment %s: %w", name, err)
			}
			t.subjects = append(t.subjects, s)
		}
	}
	if len(t.subjects) == 0 {
		return nil, fmt.Errorf("--environment: name at least one, such as native")
	}
	return t, nil
}

func parseEffect(text string, sample time.Duration) (Effect, error) {
	switch text {
	case delay:
		return Effect{Name: delay, Delay: later}, nil
	case quota:
		// The sample takes more CPU time than the quota has in one period of 100 ms,
		// so that it is throttled.
		share := min(.8*float64(sample)/float64(100*time.Millisecond), .5)
		return Effect{Name: quota, Quota: math.Round(share*100) / 100}, nil
	}
	number, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !(number >= 0 && number <= mostWork) {
		return Effect{}, fmt.Errorf("--effects %s: must be a percentage of more work from 0 to %d, %s or %s", text, mostWork, quota, delay)
	}
	return Effect{Name: strconv.FormatFloat(number, 'f', -1, 64), Work: number / 100}, nil
}

// environmentOf names the environment of an effect, the nth of its size.
func environmentOf(e Effect, n int) string {
	name := "work-" + strings.ReplaceAll(e.Name, ".", "-")
	if e.load() == &requests || e.Quota > 0 {
		name = e.Name
	}
	if n > 1 {
		name += fmt.Sprintf("-again-%d", n)
	}
	return name
}
