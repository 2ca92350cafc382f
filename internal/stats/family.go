package stats

import (
	"math"
	"slices"
)

// mostHalf is the half-width of an interval, as a log ratio, that is never precise enough.
var mostHalf = math.Log(1.25)

// Precise reports whether an interval is narrow enough to leave it at that: its half-width
// is at most this share of the estimate, and at most a quarter, or it is the margin.
func (v Interval) Precise(margin, share float64) bool {
	return (v.High-v.Low)/2 <= v.enough(margin, share)
}

func (v Interval) enough(margin, share float64) float64 {
	return max(margin, min(share*math.Abs(v.Estimate), mostHalf))
}

// Aim is the half-width at which an interval is precise enough and, if the estimate stays,
// has a verdict: it excludes zero, or lies inside the margin.
func (v Interval) Aim(margin, share float64) float64 {
	return min(v.enough(margin, share), max(math.Abs(v.Estimate), margin-math.Abs(v.Estimate)))
}

// Rules are those of a family of M contrasts, of which some may be given.
type Rules struct {
	M         int
	Rate      float64 // of the errors of the family: 5%
	Margin    float64 // as a log ratio
	Precision float64 // see Precise
}

// Course is one contrast of a family in the course of a run: its differences so far, and
// the looks at them, rising, of which the shares add up to less than 1.
type Course struct {
	D     []float64
	Looks []Look
	// Final: the run is over, and this one stayed to the end. All of D is analysed with
	// the rest of the error.
	Final bool
	// Left: it did not stay, since others were decided, so that the last look is the last
	// analysis: the number of all of D depends on what was seen.
	Left bool
}

// Judgement is what the procedure says about one contrast. It may be both different and
// equivalent: inside the margin, and not zero.
type Judgement struct {
	Spent
	Different, Equivalent bool
	Looks                 []int // at so many differences
	// Closed: no further differences are looked at: it was decided and precise at a look,
	// or this is the last analysis. Block is that of the look.
	Closed bool
	Block  int
	// N is of how many differences the interval is, and Part the share of the error that
	// is its level: of the analysis that closed it; before, of all so far as if they were
	// the last ones.
	N    int
	Part float64
}

// Decided reports whether there is a verdict.
func (j Judgement) Decided() bool { return j.Different || j.Equivalent }

// Judge applies the procedure to the contrasts of a family. The looks are taken in the
// order of their blocks, and after those of a block the whole family is judged by
// Holm. A contrast leaves at a look of its own, where it is decided and precise; a verdict
// that waits for precision, or that follows from one of another contrast, stays.
func (r Rules) Judge(courses []Course) []Judgement {
	all := make([]Judgement, len(courses))
	var blocks []int
	for i, c := range courses {
		all[i].Spent = NothingSpent()
		for _, l := range c.Looks {
			blocks = append(blocks, l.Block)
		}
	}
	slices.Sort(blocks)
	for _, block := range slices.Compact(blocks) {
		r.look(courses, all, block)
	}
	for i, c := range courses {
		j := &all[i]
		if j.Closed {
			continue
		}
		if c.Left && len(j.Looks) > 0 {
			at := slices.IndexFunc(c.Looks, func(l Look) bool { return l.N == j.Looks[len(j.Looks)-1] })
			j.N, j.Part, j.Closed = c.Looks[at].N, c.Looks[at].Share, true
			continue
		}
		j.N, j.Part = len(c.D), 1-j.Share
		if c.Final && len(c.D) >= LeastBlocks {
			j.Looks, j.Closed = append(j.Looks, len(c.D)), true
			j.Analyse(c.D, j.Part, r.Margin)
		}
	}
	r.holm(all)
	return all
}

func (r Rules) look(courses []Course, all []Judgement, block int) {
	var looked []int
	var shares []float64
	for i, c := range courses {
		at := slices.IndexFunc(c.Looks, func(l Look) bool { return l.Block == block })
		if at < 0 || all[i].Closed {
			continue
		}
		l := c.Looks[at]
		all[i].Analyse(c.D[:l.N], l.Share, r.Margin)
		all[i].Looks = append(all[i].Looks, l.N)
		looked, shares = append(looked, i), append(shares, l.Share)
	}
	r.holm(all)
	for at, i := range looked {
		j := &all[i]
		n := j.Looks[len(j.Looks)-1]
		if j.Decided() && HodgesLehmann(courses[i].D[:n], r.Rate*shares[at]).Precise(r.Margin, r.Precision) {
			j.Closed, j.Block, j.N, j.Part = true, block, n, shares[at]
			if !j.Equivalent {
				j.Equivalence = math.Inf(1) // the verdict stays, whatever others bring by Holm
			}
		}
	}
}

// holm judges differences and equivalences apart: the promise is about either.
func (r Rules) holm(all []Judgement) {
	of := func(p func(*Judgement) float64) []bool {
		values := make([]float64, len(all))
		for i := range all {
			values[i] = p(&all[i])
		}
		return Holm(values, r.M, r.Rate)
	}
	different := of(func(j *Judgement) float64 { return j.Difference })
	equivalent := of(func(j *Judgement) float64 { return j.Equivalence })
	for i := range all {
		all[i].Different, all[i].Equivalent = different[i], equivalent[i]
	}
}
