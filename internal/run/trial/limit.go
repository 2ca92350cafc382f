package trial

import (
	"context"
	"time"

	"tare/internal/run/schedule"
)

// limit is the end of the budget of a batch.
type limit struct {
	end, last time.Time // no sample begins after end, and a start is given up at last
}

// limitOf a batch that begins now; nil where nothing bounds it.
func limitOf(batch schedule.Batch) *limit {
	if batch.Left == 0 {
		return nil
	}
	end := time.Now().Add(batch.Left)
	return &limit{end, end.Add(batch.Grace)}
}

// past says whether something that takes so long would end after the budget.
func (l *limit) past(took time.Duration) bool {
	return l != nil && time.Now().Add(took).After(l.end)
}

// during does a step before the first sample, and gives it up where it takes too long.
func (l *limit) during(ctx context.Context, p *participant, do func(*participant, context.Context)) {
	if l == nil {
		do(p, ctx)
		return
	}
	bounded, cancel := context.WithDeadline(ctx, l.last)
	defer cancel()
	do(p, bounded)
	if p.err != nil && bounded.Err() != nil && ctx.Err() == nil {
		p.late, p.err = true, nil
	}
}

// inTime says whether the participant still gives samples. One without any is left out
// after the end of the budget.
func (p *participant) inTime(l *limit) bool {
	if p.takesPart() && len(p.rounds) == 0 && l.past(0) {
		p.late = true
	}
	return p.takesPart()
}
