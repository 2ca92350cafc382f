package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/base/crash"
	"tare/internal/parity/evaluate"
	"tare/internal/report/model"
	"tare/internal/run/schedule"
	"tare/internal/run/trial"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/verdict"
)

// lane makes the trials of the blocks on one node, or on this machine.
type lane struct {
	node   string
	runner *trial.Runner
	batch  schedule.Batch // under way
	block  int
	busy   bool
	rested bool // something was made before, whose effects a pause lets end
}

// lanes are one for each node that blocks run on.
func (e *execution) lanes() (all []*lane) {
	fingerprinted := map[trial.Pair]bool{}
	for _, f := range e.run.Fingerprints {
		fingerprinted[trial.Pair{Environment: f.Environment, Workload: f.Workload, Node: f.Node}] = true
	}
	prints := trial.NewFingerprints(e.keepFingerprint, fingerprinted)
	nodes := e.working()
	if len(e.nodes) == 0 {
		nodes = []string{""}
	}
	before := map[string][]rundir.Trial{}
	for _, t := range e.run.Journal() {
		before[t.Node] = append(before[t.Node], t)
	}
	for _, node := range nodes {
		l := &lane{node: node}
		l.runner = e.runner(node, before[node], prints, func(number int, underWay []rundir.Trial) { e.afterRound(l, number, underWay) })
		all = append(all, l)
	}
	return all
}

// made are the trials of a lane's batch.
type made struct {
	lane   *lane
	trials []rundir.Trial
	err    error
}

// loop makes trials until the schedule says that the run is over. Each lane works on one
// batch at a time; what it made is recorded here, so that the journal has one writer.
func (e *execution) loop(ctx context.Context, lanes []*lane) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	e.began = time.Now()
	e.retireGone()
	e.announceVerdicts() // of earlier sessions
	results := make(chan made)
	busy := 0
	var failed error
	for {
		for _, l := range lanes {
			if !l.busy && ctx.Err() == nil && e.next(l) {
				l.busy, e.trying = true, true
				busy++
				crash.Go(func() {
					trials, err := e.attempt(ctx, l)
					results <- made{l, trials, err}
				})
			}
		}
		if busy == 0 {
			return cmp.Or(failed, ctx.Err())
		}
		m := <-results
		m.lane.busy = false
		busy--
		if ctx.Err() != nil {
			continue // the trials are made again when the run is resumed
		}
		if failed = e.record(m); failed != nil {
			stop()
		}
	}
}

// next takes the batch that a lane makes next; false where there is none for it now.
func (e *execution) next(l *lane) (more bool) {
	e.deciding.Lock()
	defer e.deciding.Unlock()
	withheld := map[subject.Cell]bool{}
	for _, c := range e.marks().Mark(e.schedule.Verdicts()) {
		if c.Withheld() {
			withheld[c.Figure().Cell] = true
		}
	}
	e.schedule.Withhold(withheld)
	l.batch, more = e.schedule.NextBatchOn(l.node, e.elapsed())
	return more
}

// record stores what a lane made.
func (e *execution) record(m made) error {
	for i := range m.trials {
		e.warnInterrupted(&m.trials[i])
		e.maskSecrets(&m.trials[i])
	}
	if err := errors.Join(e.run.Append(m.trials...), m.err); err != nil {
		return err
	}
	e.deciding.Lock()
	for i := range m.trials {
		e.schedule.Record(m.trials[i])
	}
	e.fair = nil // the trials show how fast clocks run
	e.deciding.Unlock()
	slots := m.lane.batch.Slots
	for i := range m.trials {
		at := slices.IndexFunc(slots, func(slot schedule.Slot) bool { return slot.Cell() == m.trials[i].Cell() })
		e.progress(Event{Kind: Tried, Slot: &slots[at], Trial: &m.trials[i], Contrasts: e.verdicts()})
	}
	if slots[0].Rounds > 0 || e.sinceEstimates() >= estimatesEvery {
		e.estimates(m.lane, 0, nil)
	}
	e.retireGone()
	e.announceVerdicts()
	return nil
}

// attempt makes the trials of a lane's batch. While this process is stopped (SIGSTOP,
// Ctrl-Z), the clocks of samples, starts and timeouts go on, so what it was stopped in is
// discarded and made again.
func (e *execution) attempt(ctx context.Context, l *lane) ([]rundir.Trial, error) {
	slots := l.batch.Slots
	if slots[0].Block != l.block {
		l.block = slots[0].Block
		if err := e.waitUntilIdle(ctx); err != nil {
			return nil, err
		}
		e.progress(Event{Kind: Block, Slot: &slots[0]})
		e.forecast()
	}
	if err := e.awaitImages(ctx, slots); err != nil {
		return nil, err
	}
	if err := e.rest(ctx, l); err != nil {
		return nil, err
	}
	trying := Event{Kind: Trying, Slot: &slots[0]}
	if slots[0].Rounds > 0 {
		trying.Batch = slots
	}
	e.progress(trying)
	continued := make(chan os.Signal, 1)
	signal.Notify(continued, unix.SIGCONT)
	defer signal.Stop(continued)
	again, beside := "", e.making()
	for {
		trials, err := l.runner.Run(ctx, l.batch)
		if ctx.Err() != nil || err != nil {
			return trials, err
		}
		select {
		case <-continued:
		default:
			for i := range trials {
				if beside != "" && trials[i].Status != rundir.Skipped {
					trials[i].Warnings = append(trials[i].Warnings, beside)
				}
				if again != "" && trials[i].Status != rundir.Skipped {
					trials[i].Warnings = append(trials[i].Warnings, again)
				}
			}
			return trials, nil
		}
		again = "tare was stopped (SIGSTOP or Ctrl-Z) while this was under way, and made it again: the first attempt is discarded"
		e.events(Event{Kind: Noted, Message: fmt.Sprintf("tare was stopped (SIGSTOP or Ctrl-Z) during block %d of %s: what was under way is discarded and made again", slots[0].Block, slots[0].Workload)})
		if err := l.runner.Again(); err != nil {
			return nil, err
		}
	}
}

// forecast says what the budget is likely to give: as soon as it is known, and again once
// the plan stays.
func (e *execution) forecast() {
	e.deciding.Lock()
	text, from := e.schedule.Forecast(e.elapsed())
	news := from > e.foretold && (e.foretold == 0 || from == study.FirstBlocks)
	if news {
		e.foretold = from
	}
	e.deciding.Unlock()
	if news {
		e.events(Event{Kind: Noted, Message: text})
	}
}

// estimatesEvery is the least time between two events with estimates that are sent
// while samples are taken: a display that draws between two of them works next to
// nothing else, but its terminal may go on during the next sample.
const estimatesEvery = time.Second

// afterRound sends the estimates so far, which include the rounds of a lane's trials
// under way.
func (e *execution) afterRound(l *lane, number int, underWay []rundir.Trial) {
	if e.sinceEstimates() >= estimatesEvery {
		e.estimates(l, number, underWay)
	}
}

// sinceEstimates is the time since the estimates were last sent.
func (e *execution) sinceEstimates() time.Duration {
	e.deciding.Lock()
	defer e.deciding.Unlock()
	return time.Since(e.told)
}

func (e *execution) estimates(l *lane, round int, underWay []rundir.Trial) {
	e.deciding.Lock()
	e.told = time.Now()
	all := e.schedule.SoFar(underWay)
	e.deciding.Unlock()
	e.progress(Event{Kind: Estimates, Slot: &l.batch.Slots[0], Round: round, Estimates: all})
}

func (e *execution) verdicts() []verdict.Contrast {
	e.deciding.Lock()
	defer e.deciding.Unlock()
	return e.marks().Mark(e.schedule.Verdicts())
}

// marks compares the fingerprints so far. The caller holds deciding.
func (e *execution) marks() *evaluate.Book {
	if e.fair == nil {
		e.fair = model.Fairness(&e.run.Run)
	}
	return e.fair
}

// warnInterrupted adds a warning to a trial whose block was begun by an earlier
// session.
func (e *execution) warnInterrupted(t *rundir.Trial) {
	switch {
	case t.Instance == "":
	case e.interrupted[startKey{t.Block, t.Environment}]:
		t.Warnings = append(t.Warnings, "the run was interrupted within this block: the environment's earlier trials in it ran in another instance, and at another time")
	case len(t.Rounds) > 0 && e.torn[batchKey{t.Block, t.Cell().Place()}]:
		t.Warnings = append(t.Warnings, "the run was killed while it wrote this block: the samples of other environments with the same round were taken at another time")
	}
}

func (e *execution) elapsed() time.Duration { return e.before + time.Since(e.began) }

func (e *execution) progress(event Event) {
	e.deciding.Lock()
	event.Progress = e.schedule.Progress(e.elapsed())
	e.deciding.Unlock()
	e.events(event)
}

// announceVerdicts sends an event for each primary contrast that was decided
// since the last call.
func (e *execution) announceVerdicts() {
	for i, c := range e.verdicts() {
		key := decision{c.Figure(), c.Part}
		if !c.Primary || c.Open || e.decided[key] || c.N == 0 || c.Verdict == verdict.None {
			continue
		}
		if e.decided == nil {
			e.decided = map[decision]bool{}
		}
		e.decided[key] = true
		e.deciding.Lock()
		c = e.marks().Mark(e.schedule.Contrasts()[i : i+1])[0]
		e.deciding.Unlock()
		e.progress(Event{Kind: Verdict, Contrast: &c, Message: verdict.Wording(c)})
	}
}
