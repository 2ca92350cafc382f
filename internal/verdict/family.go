package verdict

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/subject"
)

// family are contrasts that share an error rate. They are judged together.
type family struct{ entries []*entry }

// join puts a contrast into the family with this key.
func (b *Book) join(e *entry, key any) {
	if b.families[key] == nil {
		b.families[key] = &family{}
	}
	e.family = b.families[key]
	e.family.entries = append(e.family.entries, e)
	b.entries = append(b.entries, e)
}

// outdate marks the verdicts of a contrast and of its family as out of date.
func (e *entry) outdate() {
	for _, other := range e.family.entries {
		other.stale = true
	}
}

// End notes that the run is over: each environment that is left has its last analysis.
func (b *Book) End() {
	b.over = true
	for _, e := range b.entries {
		e.stale = true
	}
}

// ended reports whether the last analysis is due although blocks are left. A fixed number
// is one of its own, unless a budget ends it.
func (b *Book) ended() bool {
	d := b.plan.Design
	return b.over && !d.Blocks.Open && (!d.Blocks.Fixed || d.Budget > 0)
}

// rules of the family of a contrast.
func (b *Book) rules(c *Contrast) stats.Rules {
	d := b.plan.Design
	return stats.Rules{M: c.Family, Rate: 1 - float64(d.Confidence), Margin: c.logMargin(), Precision: float64(cmp.Or(d.Precision, study.DefaultPrecision))}
}

// looks are those at the differences of these blocks so far. That of a block waits until
// all before it are complete.
func (b *Book) looks(blocks []int, held int) []stats.Look {
	switch d := b.plan.Design; {
	case !d.Leaves():
		return nil
	case d.Budget > 0:
		complete := func(block int) int {
			if held > 0 && block >= held {
				return 0
			}
			return block
		}
		return stats.BlockLooks(blocks, lists.Map(b.clock.looks, complete))
	default:
		return stats.CountLooks(blocks, d.Blocks.Max)
	}
}

// judge brings the judgements of a family up to date. The interim ones come first: whether
// an environment stayed to the end follows from all of its contrasts.
func (b *Book) judge(f *family) {
	interim := func(f *family) {
		for _, e := range f.entries {
			e.s, e.base = joined(e.of), joined(e.over)
			p := e.pairs()
			if e.course = (stats.Course{D: p.d}); !e.value {
				e.course.Looks = b.looks(p.blocks, e.held)
			}
		}
		f.conclude(b)
	}
	interim(f)
	final := false
	for _, e := range f.entries {
		if !b.ended() && !b.allTried(e) {
			continue
		}
		if b.over && b.leaves == nil {
			for _, k := range b.fellows(e) {
				if k.family != f {
					interim(k.family)
				}
			}
		}
		e.course.Final = b.stayed(e)
		e.course.Left, final = !e.course.Final, true
	}
	if final {
		f.conclude(b)
	}
}

// pending reports whether the last analysis of a contrast of the family is still to come:
// by Holm, its verdict can bring others theirs, or make equivalent what is different.
func (b *Book) pending(f *family) bool {
	return slices.ContainsFunc(f.entries, func(e *entry) bool {
		return !e.judged.Closed && !b.allTried(e) && e.s.gaveUp == 0 && e.base.gaveUp == 0
	})
}

func (f *family) conclude(b *Book) {
	courses := make([]stats.Course, len(f.entries))
	for i, e := range f.entries {
		courses[i] = e.course
	}
	for i, j := range b.rules(&f.entries[0].contrast).Judge(courses) {
		f.entries[i].judged = j
	}
}

// fellows are the primary contrasts of the environments of a contrast: they stay for them.
func (b *Book) fellows(e *entry) (all []*entry) {
	for _, cell := range e.cells {
		all = append(all, b.primaries(cell)...)
	}
	return all
}

// primaries are the primary contrasts that a cell is part of.
func (b *Book) primaries(cell subject.Cell) []*entry {
	return lists.Filter(b.touched[cell], func(k *entry) bool { return k.contrast.Primary })
}

// stayed reports whether the environments of a contrast were in the run to its end.
func (b *Book) stayed(e *entry) bool {
	switch {
	case !b.plan.Design.Leaves():
		return true
	case b.leaves != nil:
		return !slices.ContainsFunc(e.cells, func(c subject.Cell) bool { return left(b.leaves.primaries(c)) })
	}
	return !left(b.fellows(e))
}

// left reports whether the environments that stay for these contrasts left early: all were
// closed at a look.
func left(all []*entry) bool {
	return len(all) > 0 && !slices.ContainsFunc(all, func(k *entry) bool { return !k.judged.Closed || k.course.Final })
}

// clock finds the blocks of the looks of a run with a budget. The time up to the end of a
// block is that in which trials of it and of those before it were made, by their own times:
// pauses between sessions do not count, the order of the trials makes no difference, and
// blocks that run beside others change nothing when they are complete.
type clock struct {
	spans map[int][]timeSpan // of each block, rising and apart
	looks []int              // the blocks; 0 where none is known yet
	stale bool
}

type timeSpan struct{ from, to time.Time }

func (k *clock) add(t rundir.Trial) {
	k.stale = true
	spans, one := k.spans[t.Block], timeSpan{t.Started, t.Ended}
	if !t.Ended.After(t.Started) {
		k.spans[t.Block] = spans // it has one
		return
	}
	at, _ := slices.BinarySearchFunc(spans, one, func(s, o timeSpan) int { return s.to.Compare(o.from) })
	last := at
	for ; last < len(spans) && !spans[last].from.After(one.to); last++ {
		if spans[last].from.Before(one.from) {
			one.from = spans[last].from
		}
		if spans[last].to.After(one.to) {
			one.to = spans[last].to
		}
	}
	k.spans[t.Block] = slices.Replace(spans, at, last, one)
}

// tick brings the looks up to date, where so many blocks are made at the same time. It
// reports whether they have changed.
func (k *clock) tick(budget time.Duration, most, parallel int) bool {
	if !k.stale {
		return false
	}
	k.stale = false
	was := k.looks
	k.looks = make([]int, len(stats.BudgetLooks()))
	var took time.Duration
	for _, block := range slices.Sorted(maps.Keys(k.spans)) {
		for _, s := range k.spans[block] {
			took += s.to.Sub(s.from)
		}
		share := max(float64(took)/float64(budget)/float64(parallel), float64(block)/float64(max(most, 1)))
		for i, l := range stats.BudgetLooks() {
			if share >= l.Time && k.looks[i] == 0 {
				k.looks[i] = block
			}
		}
		if !slices.Contains(k.looks, 0) {
			break
		}
	}
	return !slices.Equal(was, k.looks)
}
