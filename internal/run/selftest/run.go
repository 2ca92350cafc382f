package selftest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/study"
)

// Run executes the test; events receives what happens. When the context is
// cancelled, the summary has what was measured until then; an error comes with it
// too.
func (t *Test) Run(ctx context.Context, events func(run.Event)) (s *Summary, err error) {
	s = &Summary{Margin: t.margin, Sample: t.options.Sample}
	e := &execution{Test: t, summary: s, events: events, steal: map[string][2]float64{}}
	e.directory = t.options.Run.Directory
	if e.directory == "" {
		owner, err := cleanup.Open(t.options.Run.Home)
		if err != nil {
			return s, &run.InputError{Err: err}
		}
		defer func() { err = errors.Join(err, owner.Close()) }()
		if e.directory, err = owner.Directory("runs"); err != nil {
			return s, err
		}
	}
	err = e.work(ctx)
	s.Interrupted = ctx.Err() != nil
	s.Lines, s.Rates = summarize(s.Rows, t.margin)
	for i := range s.Environments {
		if of := e.steal[s.Environments[i].Environment]; of[1] > 0 {
			s.Environments[i].StealShare = new(of[0] / of[1])
		}
	}
	return s, err
}

type execution struct {
	*Test
	summary   *Summary
	events    func(run.Event)
	directory string
	runs      int
	steal     map[string][2]float64 // stolen seconds, and seconds of samples
}

// turn is an environment whose amount of work is known.
type turn struct {
	subject
	amount int64
	took   time.Duration // its longest cycle
}

// share is the part of the time that is left for a turn, where these turns are left in
// the cycle: in proportion to their environments.
func (t *turn) share(left time.Duration, turns []*turn) time.Duration {
	all := 0
	for _, other := range turns {
		all += 1 + len(other.effects)
	}
	return left * time.Duration(1+len(t.effects)) / time.Duration(all)
}

func (e *execution) work(ctx context.Context) error {
	var turns []*turn
	for _, s := range e.subjects {
		one, err := e.find(ctx, s)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if one != nil {
			turns = append(turns, one)
		}
	}
	if len(turns) == 0 {
		return nil
	}
	began := time.Now()
	defer func() { e.summary.Took = time.Since(began) }()
	// A turn can overrun its share, for the usual practice has no budget. The short
	// ones come first, so that they are not lost by it.
	slices.SortStableFunc(turns, func(a, b *turn) int { return len(a.effects) - len(b.effects) })
	deadline := began.Add(e.options.Time)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for cycle := 1; ; cycle++ {
		some := false
		for i, one := range turns {
			left := time.Until(deadline)
			share := min(one.share(left, turns[i:]), e.options.Cycle)
			if few := one.took * 3 / 4; share < few && few <= left {
				share = left
			} else if share < few {
				continue // it would hardly reach an interim analysis
			}
			some = true
			start := time.Now()
			if err := e.cycle(ctx, one, cycle, share); ctx.Err() != nil || err != nil {
				return err
			}
			one.took = max(one.took, time.Since(start))
		}
		if !some {
			return nil
		}
	}
}

// find prepares the image and finds the amount of work of a sample. It returns nil
// for an environment that does not work here.
func (e *execution) find(ctx context.Context, s subject) (*turn, error) {
	plan, err := e.probe(s)
	if err != nil {
		return nil, err
	}
	options, err := plan.Environments[0].Decode()
	if err != nil {
		return nil, err
	}
	if state, findings := environment.Check(ctx, plan.Environments[0].Kind, options); state == environment.Missing {
		e.skip(s.name, run.Why(rundir.EnvironmentFacts{State: state, Findings: findings}))
		return nil, nil
	}
	result, err := e.execute(ctx, plan, s.name+": finding the amount of "+s.load.name, s.draft.Name+"-"+s.load.name+"-amount", true)
	if err != nil || ctx.Err() != nil {
		return nil, err
	}
	for _, t := range result.Run.Trials {
		if len(t.Amounts) > 0 {
			tested := e.tested(s.name)
			tested.Label = result.Run.Manifest.Environments[baseline].Label
			if s.load == &requests {
				tested.Requests = t.Amounts[0]
			} else {
				tested.Operations = t.Amounts[0]
			}
			return &turn{subject: s, amount: t.Amounts[0]}, nil
		}
		e.skip(s.name, "failed: "+t.Reason)
	}
	return nil, nil
}

// tested is the entry of an environment, which is made for its first load.
func (e *execution) tested(name string) *Tested {
	all := &e.summary.Environments
	i := slices.IndexFunc(*all, func(t Tested) bool { return t.Environment == name })
	if i < 0 {
		i = len(*all)
		*all = append(*all, Tested{Environment: name})
	}
	return &(*all)[i]
}

func (e *execution) skip(name, reason string) {
	if s := (Skipped{name, reason}); !slices.Contains(e.summary.Skipped, s) {
		e.summary.Skipped = append(e.summary.Skipped, s)
	}
}

// cycle runs the alternating samples of one environment and then, unless it is left out,
// the usual practice, with the same amount of work, so that both see the same minutes.
func (e *execution) cycle(ctx context.Context, one *turn, cycle int, share time.Duration) error {
	e.summary.Cycles = max(e.summary.Cycles, cycle)
	name := fmt.Sprintf("%s-%s-%d", one.draft.Name, one.load.name, cycle)
	about := fmt.Sprintf("%s, cycle %d, %s: ", one.name, cycle, one.load.name)
	budget := share / 2
	if e.options.NoUsual {
		budget = share
	}
	plan, err := e.alternating(one.subject, one.amount, budget)
	if err != nil {
		return err
	}
	result, err := e.execute(ctx, plan, about+"alternating samples", name+"-alternating", false)
	if result == nil || err != nil {
		return err
	}
	rounds := 0
	steal := e.steal[one.name]
	for _, t := range result.Run.Trials {
		rounds += len(t.Rounds)
		for _, r := range t.Rounds {
			if r.StealSeconds != nil {
				steal[0], steal[1] = steal[0]+*r.StealSeconds, steal[1]+r.HostSeconds
			}
		}
	}
	e.steal[one.name] = steal
	e.collect(one, cycle, plan, result.Run.Trials, alternatingOutcome)
	if rounds == 0 || e.options.NoUsual || ctx.Err() != nil {
		return nil
	}
	amount := one.amount * int64(rounds) / int64(len(plan.Environments)*usualSamples)
	if plan, err = e.usual(one.subject, max(amount, one.amount)); err != nil {
		return err
	}
	result, err = e.execute(ctx, plan, about+"all of A, then all of B", name+"-usual", false)
	if result == nil || err != nil {
		return err
	}
	e.collect(&turn{subject: one.subject, amount: max(amount, one.amount)}, cycle, plan, result.Run.Trials,
		func(_ *study.Plan, trials []rundir.Trial, environment string) (Outcome, bool) {
			return usualOutcome(trials, environment)
		})
	return nil
}

// collect adds the outcomes of the effects that the trials decide something about.
func (e *execution) collect(one *turn, cycle int, plan *study.Plan, trials []rundir.Trial, of func(*study.Plan, []rundir.Trial, string) (Outcome, bool)) {
	for _, effect := range one.effects {
		o, ok := of(plan, trials, effect.environment)
		if !ok {
			continue
		}
		o.Environment, o.Effect, o.Work, o.Cycle = one.name, effect.String(), effect.Work, cycle
		if truth, known := effect.truth(one.amount, o.base); known {
			o.Truth = &truth
		}
		e.summary.Rows = append(e.summary.Rows, o)
	}
}

// execute runs a plan. The result is nil if it was interrupted before the first
// trial.
func (e *execution) execute(ctx context.Context, plan *study.Plan, about, name string, first bool) (*run.Result, error) {
	e.events(run.Event{Kind: run.Preparing, Message: about})
	o := e.options.Run
	e.runs++
	o.Plan, o.Directory = plan, filepath.Join(e.directory, fmt.Sprintf("%02d-%s", e.runs, name))
	o.Events = func(event run.Event) {
		switch event.Kind {
		case run.Preparing, run.Skipped, run.Noted:
			if !first { // nothing is prepared that was not for the first run, and the plans are alike
				return
			}
		case run.Block, run.Verdict, run.Estimates, run.Opened, run.Done:
			return
		}
		e.events(event)
	}
	result, err := run.Execute(ctx, o)
	if result == nil {
		if ctx.Err() != nil {
			return nil, nil
		}
		return nil, err
	}
	e.summary.Failed += result.Failed
	e.summary.Trials += len(result.Run.Trials)
	return result, err
}
