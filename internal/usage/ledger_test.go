package usage

import (
	"maps"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// life is a small machine: processes that fork, work, and end with or without
// a parent that waits for them.
type life struct {
	now   map[int]account
	next  int
	truth amounts
}

func (l *life) step(t *rapid.T, waits bool) {
	pids := slices.Sorted(maps.Keys(l.now))
	pid := rapid.SampledFrom(pids).Draw(t, "process")
	a := l.now[pid]
	switch rapid.SampledFrom([]string{"fork", "work", "work", "end"}).Draw(t, "what") {
	case "fork":
		l.now[l.next] = account{parent: pid, started: uint64(l.next)}
		l.next++
	case "work":
		for i := range a.own {
			v := float64(rapid.IntRange(0, 100).Draw(t, "amount"))
			a.own[i] += v
			l.truth[i] += v
		}
		l.now[pid] = a
	case "end":
		if pid == 1 {
			return
		}
		delete(l.now, pid)
		for child, b := range l.now {
			if b.parent == pid { // init, which nobody watches, takes it over
				b.parent = 0
				l.now[child] = b
			}
		}
		parent, lives := l.now[a.parent]
		if !lives || !waits && rapid.Bool().Draw(t, "nobody waits") {
			return
		}
		for i, v := range a.total() {
			switch i {
			case diskRead, diskWritten:
				parent.own[i] += v
			case switches: // nobody is told
			default:
				parent.inherited[i] += v
			}
		}
		l.now[a.parent] = parent
	}
}

func near(a, b amounts) bool {
	for i := range a {
		if math.Abs(a[i]-b[i]) > 1e-6 {
			return false
		}
	}
	return true
}

func TestALedgerUpdatedAfterEveryStepLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, book := life{now: map[int]account{1: {}}, next: 2}, ledger{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			// Only bytes that the heir writes in the very moment of an end could
			// hide a loss, and a step does one thing.
			l.step(t, false)
			if sum := book.update(maps.Clone(l.now)); !near(sum, l.truth) {
				t.Fatalf("the ledger has %v, the truth is %v", sum, l.truth)
			}
		}
	})
}

func TestALedgerUpdatedSeldomNeverOvercountsAndNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l, book, before := life{now: map[int]account{1: {}}, next: 2}, ledger{}, amounts{}
		for range rapid.IntRange(1, 20).Draw(t, "looks") {
			for range rapid.IntRange(0, 20).Draw(t, "steps") {
				l.step(t, false)
			}
			sum := book.update(maps.Clone(l.now))
			for i := range sum {
				if sum[i] > l.truth[i]+1e-6 || sum[i] < before[i]-1e-6 {
					t.Fatalf("the ledger has %v after %v, the truth is %v", sum, before, l.truth)
				}
			}
			before = sum
		}
	})
}

func TestWhereParentsWaitALedgerIsExactHoweverSeldomItIsUpdated(t *testing.T) {
	a := func(parent int, started uint64, own, inherited float64) account {
		return account{parent: parent, started: started, own: amounts{own}, inherited: amounts{inherited}}
	}
	book := ledger{}
	book.update(map[int]account{1: a(0, 1, 5, 0), 2: a(1, 2, 3, 0), 3: a(2, 3, 2, 0)})
	// 3 worked 1 more and ended, then 2; 4 lived and ended unseen and used 7.
	if sum := book.update(map[int]account{1: a(0, 1, 6, 3+2+1+7)}); sum[0] != 19 || book.orphans != 0 {
		t.Errorf("sum %v with %d orphans, want 19 without", sum[0], book.orphans)
	}
	// The number 1 is taken over by another process.
	if sum := book.update(map[int]account{1: a(0, 9, 1, 0)}); sum[0] != 20 || book.orphans != 1 {
		t.Errorf("sum %v with %d orphans, want 20 with one", sum[0], book.orphans)
	}
}

func TestACgroupIsNotCountedAgainWithItsParent(t *testing.T) {
	book := ledger{}
	inside := account{parent: 1, started: 2, own: amounts{100, 50}, elsewhere: true}
	sum := book.update(map[int]account{1: {started: 1, own: amounts{5, 5}}, 2: inside})
	if sum != (amounts{5, 5}) {
		t.Errorf("sum %v", sum)
	}
	sum = book.update(map[int]account{1: {started: 1, own: amounts{6, 6}, inherited: amounts{100, 50}}})
	if sum != (amounts{6, 6}) {
		t.Errorf("sum %v after the parent inherited", sum)
	}
}
