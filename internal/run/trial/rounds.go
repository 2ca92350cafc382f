package trial

import (
	"context"
	"fmt"
	"slices"
	"time"

	"tare/internal/base/lists"
	"tare/internal/run/schedule"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/usage"
	"tare/internal/workload"
	"tare/internal/workload/capacity"
)

// sampleRounds takes the samples of all rounds. Between two samples nothing else
// works: outputs stay in memory, and counters are read at the edges of the
// samples alone. after is called after each round; nil is not.
func sampleRounds(ctx context.Context, batch schedule.Batch, all []*participant, limit *limit, after func(int, []rundir.Trial)) {
	if ctx.Err() != nil {
		return // not all of them are prepared
	}
	halves := halve(all)
	each := func(order []int, takesPart func(*participant) bool, sample func(p *participant, position int)) {
		position := 0
		for _, i := range order {
			if p := all[i]; takesPart(p) && ctx.Err() == nil {
				position++
				sample(p, position)
			}
		}
	}
	began, took := time.Now(), time.Duration(0)
	takesPart, more := (*participant).takesPart, func(done int) bool { return another(done, took, batch.Slots[0].Within) }
	if shares := sharesOf(batch, all); shares != nil {
		takesPart, more = shares.takesPart, shares.more
	}
	inBudget := func(done int) bool { return done == 0 || !limit.past(took/time.Duration(done)) }
	for number := 1; number <= batch.Rounds() && more(number-1) && inBudget(number-1); number++ {
		taking := lists.Filter(all, takesPart) // all of a round or not at all
		takes := func(p *participant) bool { return slices.Contains(taking, p) && p.inTime(limit) }
		each(batch.Round(number), takes, func(p *participant, position int) {
			defer p.inRounds()()
			if p.fromStart() {
				p.sampleStart(ctx, number, position, number == batch.Rounds())
			} else if err := p.sample(ctx, number, position); err != nil {
				p.fail(number, err) // this trial alone
			}
		})
		if halves {
			each(batch.HalfRound(number), func(p *participant) bool { return takes(p) && !p.halfFailed }, func(p *participant, position int) {
				defer p.inRounds()()
				p.halfSample(ctx, number, position)
			})
		}
		if after != nil && all[0].alternates() && ctx.Err() == nil {
			after(number, lists.Map(lists.Filter(all, (*participant).takesPart), func(p *participant) rundir.Trial { return p.trial }))
		}
		took = time.Since(began)
	}
	for _, p := range all {
		if len(p.trial.Rounds) > 0 {
			p.trial.RoundsSeconds, p.trial.RoundsReason = took.Seconds(), batch.Why
		}
	}
}

// another says whether one more round is likely to end within a limit, after so many
// that took so long; 0 is no limit.
func another(done int, took, within time.Duration) bool {
	return done == 0 || within == 0 || took+took/time.Duration(done) <= within
}

// halve prepares samples of half the length: of all environments or of none, so that all
// have the same neighbours in time. There are none where something is counted over
// the whole trial and divided by the operations of its rounds.
func halve(all []*participant) bool {
	for _, p := range all {
		if !p.takesPart() {
			continue
		}
		if !p.alternates() || p.fromStart() || p.search != nil || p.meters.remote || p.run.plan.Sampling.Syscalls {
			return false
		}
		if p.trial.HalfShare = p.session.Halve(); p.trial.HalfShare == 0 {
			for _, p := range all {
				p.trial.HalfShare = 0
			}
			return false
		}
	}
	return true
}

// halfSample takes a sample of half the length, which is part of no figure of the
// trial. After a failure there are no more, and the trial goes on.
func (p *participant) halfSample(ctx context.Context, number, position int) {
	defer p.timed()()
	if err := p.group.Thaw(ctx); err != nil {
		p.fail(number, err)
		return
	}
	s, err := p.session.HalfSample(ctx)
	p.wait(ctx)
	var f figures
	if err == nil {
		f, err = figuresOf(p.pack().Metrics, s, p.group.Starts, usage.Absent("samples of half the length are not metered"))
	}
	if err != nil {
		p.halfFailed = true
		p.record.Warn(fmt.Sprintf("a sample of half the length after round %d: %v", number, err))
		return
	}
	p.trial.HalfRounds = append(p.trial.HalfRounds, rundir.Round{
		Number: number, Position: position, Metrics: withoutPercentiles(f.Copy, p.pack().Metrics).Metrics, HostSeconds: f.host, GuestSeconds: f.guest,
	})
}

func (p *participant) sample(ctx context.Context, number, position int) error {
	defer p.timed()()
	if err := p.group.Thaw(ctx); err != nil {
		return err
	}
	rate := 0.0
	if p.search != nil {
		rate = p.search.Next()
		if err := p.session.SetRate(rate); err != nil {
			return err
		}
	}
	p.meters.begin()
	s, err := p.session.Sample(ctx)
	took := p.meters.end(ctx)
	p.wait(ctx)
	if err != nil {
		return err
	}
	f, err := figuresOf(p.pack().Metrics, s, p.group.Starts, took.CPU)
	if err != nil {
		return err
	}
	var probe *capacity.Probe
	if p.search != nil {
		found, err := p.judge(rate, f.outputs[0].Metrics, took.CPU)
		if err != nil {
			return err
		}
		p.search.Add(found)
		probe = &found
	}
	p.addRound(number, position, f, took, probe)
	if len(s.Copies) == 1 {
		p.addSeries(s.Copies[0])
	}
	return nil
}

// judge says what a sample at a rate shows.
func (p *participant) judge(rate float64, metrics map[string]float64, cpu usage.Figure) (capacity.Probe, error) {
	perRequest := 0.
	if requests := metrics[p.pack().Operations]; cpu.Missing == "" && requests > 0 {
		perRequest = cpu.Value / requests
	}
	return p.spec.workload.Find.Criteria.Judge(rate, metrics, perRequest)
}

// addRound adds a sample with the time that was stolen during it. In a trial of its own
// it is no round, but the trial.
func (p *participant) addRound(number, position int, f figures, took usage.Edge, probe *capacity.Probe) {
	if p.rounds = append(p.rounds, f); !p.alternates() {
		return
	}
	own := withoutPercentiles(f.Copy, p.pack().Metrics)
	round := rundir.Round{
		Number: number, Position: position, Metrics: own.Metrics, Missing: own.Missing, HostSeconds: f.host, GuestSeconds: f.guest, Probe: probe,
	}
	if took.Steal.Missing == "" {
		round.StealSeconds, p.trial.StealSource = &took.Steal.Value, took.StealSource
	}
	p.trial.Rounds = append(p.trial.Rounds, round)
}

// wait lets the instances wait as the design says.
func (p *participant) wait(ctx context.Context) {
	if p.alternates() && p.run.plan.Design.Waiting == study.Frozen {
		p.record.Warn(p.group.Freeze(ctx)...)
	}
}

// summarize makes the trial's metrics and times of its rounds.
func (p *participant) summarize() {
	t, pack := &p.trial, p.pack()
	for _, f := range p.rounds {
		t.HostSeconds, t.GuestSeconds = t.HostSeconds+f.host, t.GuestSeconds+f.guest
	}
	switch {
	case len(p.rounds) == 0:
		return
	case !p.alternates():
		t.Metrics, t.Missing, t.Copies = p.rounds[0].Metrics, p.rounds[0].Missing, p.rounds[0].copies
		return
	}
	samples := fmt.Sprintf("%d samples", len(p.rounds))
	of := func(one func(f figures) rundir.Copy, outputs func(f figures) []workload.Output, several string) rundir.Copy {
		c := rundir.OfRounds(lists.Map(p.rounds, one), pack.Operations)
		addPercentiles(&c, pack.Metrics, slices.Concat(lists.Map(p.rounds, outputs)...), several)
		return c
	}
	together := samples
	if n := len(p.rounds[0].copies); n > 0 {
		together += fmt.Sprintf(" of %d copies", n)
	}
	all := of(func(f figures) rundir.Copy { return f.Copy }, func(f figures) []workload.Output { return f.outputs }, together)
	t.Metrics, t.Missing = all.Metrics, all.Missing
	for n := range p.rounds[0].copies {
		t.Copies = append(t.Copies, of(func(f figures) rundir.Copy { return f.copies[n] }, func(f figures) []workload.Output { return f.outputOf(n) }, samples))
	}
}
