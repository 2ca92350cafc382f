package verdict

import (
	"math"

	"gonum.org/v1/gonum/stat"

	"tare/internal/stats"
	"tare/internal/subject"
)

const (
	// guess is how many blocks the deviation that is guessed from rounds counts for: the
	// variance of a few blocks is less certain than that.
	guess = 2
	// spread is the least number of values whose deviation is used.
	spread = 3
)

// Outlooks says for each cell with open primary verdicts how many blocks they are likely to
// take until all are decided and precise, if the estimates stay; where too little is known,
// the least number that an analysis takes. The deviation of a block is guessed from that of
// its rounds, of which later blocks have so many, with this ratio of the variance of a round
// to that between instances; what the blocks themselves say is added. The level is that of
// the end of a budget.
func (b *Book) Outlooks(ratio float64, rounds func(subject.Cell) int) map[subject.Cell]int {
	left := 1.0
	for _, look := range stats.BudgetLooks() {
		left -= look.Share
	}
	blocks := map[subject.Cell]int{}
	for _, e := range b.entries {
		if b.refresh(e); !e.contrast.Primary || !e.contrast.Open {
			continue
		}
		c, n := e.contrast, stats.LeastLook
		at := c.Figure().Cell
		if deviation := e.deviation(ratio, rounds(at)); deviation > 0 {
			c.Estimate = stats.Location(e.pairs().d)
			n = stats.BlocksFor(deviation, n, left*b.rules(&c).Rate, b.aim(&c))
		}
		blocks[at] = max(blocks[at], n)
	}
	return blocks
}

// deviation of a block of so many rounds; 0 where too little is known.
func (e *entry) deviation(ratio float64, rounds int) float64 {
	p := e.pairs()
	sum, weight := 0.0, 0.0
	for _, block := range p.blocks {
		of := stats.RoundsOf(e.terms(func(s *series) stats.Logs { return s.in(block) }))
		if s := stats.Deviation(of); len(of) >= spread && s > 0 {
			sum, weight = sum+s*s*(1/float64(max(1, rounds))+1/ratio), weight+1
		}
	}
	if weight > 0 {
		sum, weight = guess*sum/weight, guess
	}
	if n := len(p.d); n >= spread || n > 1 && weight > 0 {
		sum, weight = sum+stat.Variance(p.d, nil)*float64(n-1), weight+float64(n-1)
	}
	if weight == 0 {
		return 0
	}
	return math.Sqrt(sum / weight)
}
