package verdict

import (
	"cmp"
	"math"
	"slices"

	"tare/internal/rundir"
	"tare/internal/stats"
)

// giveUpAfter is the number of blocks on one node without a value, counted from the
// first, after which no value is expected any more.
const giveUpAfter = 3

// series is one metric of one cell in one environment: one value per block.
type series struct {
	blocks  []int              // that have a value, rising
	means   []float64          // the block's value, the geometric mean of several
	logs    []float64          // its logarithm
	counts  []int              // values in the block
	rounds  []stats.Logs       // of its rounds alone
	lengths map[int]stats.Logs // of a block: how much the length of the samples biases it
	nodes   map[int]string     // that a block ran on, in a run over several
	// attempts are the blocks that were tried, rising, and tried counts them by nodes.
	attempts []int
	tried    map[string]int
	// nonPositive is the first block with a value that has no logarithm.
	nonPositive      int
	nonPositiveValue float64
	// gaveUp is the block after which no value is expected any more; reason says why.
	gaveUp int
	reason Reason
}

// add enters the outcome of one trial: a value with the logarithms of its rounds,
// or the reason why there is none.
func (s *series) add(block int, node string, value float64, rounds stats.Logs, ok bool, skipped bool, reason Reason) {
	if at, known := slices.BinarySearch(s.attempts, block); !known {
		s.attempts = slices.Insert(s.attempts, at, block)
		s.tried[node]++
	}
	switch {
	case !ok:
		if len(s.blocks) == 0 && s.nonPositive == 0 && s.gaveUp == 0 && (skipped || s.tried[node] >= giveUpAfter) {
			s.gaveUp, s.reason = block, reason
		}
		return
	case !(value > 0) || math.IsInf(value, 1):
		if s.nonPositive == 0 || block < s.nonPositive {
			s.nonPositive, s.nonPositiveValue = block, value
		}
		return
	}
	at, known := slices.BinarySearch(s.blocks, block)
	if !known {
		s.blocks = slices.Insert(s.blocks, at, block)
		s.means, s.logs = slices.Insert(s.means, at, value), slices.Insert(s.logs, at, 0)
		s.counts, s.rounds = slices.Insert(s.counts, at, 0), slices.Insert(s.rounds, at, rounds)
	}
	s.counts[at]++
	s.logs[at] += (math.Log(value) - s.logs[at]) / float64(s.counts[at])
	if s.counts[at] > 1 {
		// Rounds of several trials are not the same rounds.
		s.means[at], s.rounds[at] = math.Exp(s.logs[at]), stats.Logs{}
	}
}

// why says why no value is expected any more of this side.
func (s *series) why(side string) Reason {
	reason := s.reason
	reason.Code, reason.Side = cmp.Or(reason.Code, GivenUp), side
	return reason
}

// on notes the node of a trial with a value.
func (s *series) on(t rundir.Trial) {
	if t.Node == "" || t.Status != rundir.OK {
		return
	}
	if s.nodes == nil {
		s.nodes = map[int]string{}
	}
	s.nodes[t.Block] = t.Node
}

// allZero reports whether every value so far was 0.
func (s *series) allZero() bool {
	return s.nonPositive > 0 && s.nonPositiveValue == 0 && len(s.blocks) == 0
}

// last is the last block that was tried; 0 before the first.
func (s *series) last() int {
	if len(s.attempts) == 0 {
		return 0
	}
	return s.attempts[len(s.attempts)-1]
}

// valueOf is a metric of a trial, with the reason where there is none.
func valueOf(t rundir.Trial, metric string) (float64, bool, Reason) {
	if t.Status != rundir.OK {
		return 0, false, Reason{Code: GivenUp, Cause: cmp.Or(t.Reason, "the trial "+string(t.Status))}
	}
	if v, ok := t.Metrics[metric]; ok {
		return v, true, Reason{}
	}
	if why := t.Missing[metric]; why != "" {
		return 0, false, Reason{Code: GivenUp, Cause: why}
	}
	return 0, false, Reason{Code: Lacking, Metric: metric}
}

// in is what the series has in a block, which it must have.
func (s *series) in(block int) stats.Logs {
	at, _ := slices.BinarySearch(s.blocks, block)
	logs := s.rounds[at]
	logs.Trial = s.logs[at]
	return logs
}

// paired are the blocks that both sides of a contrast have.
type paired struct {
	d      []float64 // the log ratios
	blocks []int
	rounds []int // of each
	// These blocks have no ratio.
	sparse []int // too few rounds in common
	apart  []int // the sides ran on different nodes
	upTo   int   // blocks after this one are not looked at yet
}

// forget leaves out the blocks from this one on.
func (p *paired) forget(block int) {
	n, _ := slices.BinarySearch(p.blocks, block)
	p.d, p.blocks, p.rounds = p.d[:n], p.blocks[:n], p.rounds[:n]
	n, _ = slices.BinarySearch(p.sparse, block)
	p.sparse = p.sparse[:n]
	n, _ = slices.BinarySearch(p.apart, block)
	p.apart = p.apart[:n]
	p.upTo = min(p.upTo, block-1)
}

// pairs brings the blocks that both sides have up to date, up to the one that the verdict
// waits for. Those before the first that has changed stay: a run can have many.
func (e *entry) pairs() *paired {
	p, most := &e.paired, e.held
	most = cmp.Or(most, max(e.s.last(), e.base.last()))
	p.forget(most + 1)
	after := func(s *series) []int {
		from, _ := slices.BinarySearch(s.blocks, p.upTo+1)
		return s.blocks[from:]
	}
	own, base := after(e.s), after(e.base)
	for len(own) > 0 && len(base) > 0 && own[0] <= most {
		switch b := own[0]; {
		case base[0] < b:
			base = base[1:]
			continue
		case base[0] > b:
		case e.onDifferent(b):
			p.apart = append(p.apart, b)
		default:
			if sum := e.difference(b); sum.Sparse() {
				p.sparse = append(p.sparse, b)
			} else {
				p.d, p.blocks, p.rounds = append(p.d, sum.Log), append(p.blocks, b), append(p.rounds, sum.Rounds)
			}
		}
		own = own[1:]
	}
	p.upTo = most
	return p
}

// onDifferent reports whether the sides of a block ran on different nodes.
func (e *entry) onDifferent(block int) bool {
	node := e.of[0].nodes[block]
	other := func(s *series) bool { return s.nodes[block] != node }
	return slices.ContainsFunc(e.of, other) || slices.ContainsFunc(e.over, other)
}

// roundsRange is the range of the numbers of rounds; nil if a block was compared by its trials.
func (p *paired) roundsRange() *Rounds {
	if len(p.rounds) == 0 || slices.Contains(p.rounds, 0) {
		return nil
	}
	return &Rounds{slices.Min(p.rounds), slices.Max(p.rounds)}
}

// difference is the log ratio of a block that all series have.
func (e *entry) difference(block int) stats.Sum {
	return e.sumOf(func(s *series) stats.Logs { return s.in(block) })
}

// sumOf is a log ratio: the mean of the environments' logarithms without that of
// the baselines'.
func (e *entry) sumOf(in func(*series) stats.Logs) stats.Sum { return stats.SumOf(e.terms(in)) }

func (e *entry) terms(in func(*series) stats.Logs) []stats.Term {
	terms := make([]stats.Term, 0, 2*len(e.of))
	for i := range e.of {
		of, over := in(e.of[i]), in(e.over[i])
		if e.contrast.BaseLevel != "" {
			of.Rounds, over.Rounds = nil, nil // the rounds of two levels are not adjacent
		}
		terms = append(terms, stats.Difference(1/float64(len(e.of)), of, over)...)
	}
	return terms
}

// values of these blocks, which the series must have.
func (s *series) values(blocks []int) []float64 {
	values := make([]float64, len(blocks))
	for i, b := range blocks {
		at, _ := slices.BinarySearch(s.blocks, b)
		values[i] = s.means[at]
	}
	return values
}

// missing counts the blocks that were tried on both sides and have no pair.
func (e *entry) missing(paired int) int {
	base, both := e.base.attempts, 0
	for _, b := range e.s.attempts {
		if e.held > 0 && b > e.held {
			break
		}
		for len(base) > 0 && base[0] < b {
			base = base[1:]
		}
		if len(base) > 0 && base[0] == b {
			both++
		}
	}
	return both - paired
}
