package usage

// amounts are the usage of a process since it started: seconds of user and system
// time, page faults, bytes read from and written to disk, and context switches.
type amounts [7]float64

const (
	cpuUser = iota
	cpuSystem
	minorFaults
	majorFaults
	diskRead // of disk bytes the kernel adds those of children to the parent's own
	diskWritten
	switches // the kernel does not report those of children
)

// account is one process in one reading.
type account struct {
	parent  int
	started uint64 // identifies a process together with its PID
	own     amounts
	// inherited is the usage of children that exited and that the process waited
	// for. The kernel keeps it separately for CPU time and page faults; disk bytes
	// are in own, and switches nowhere.
	inherited amounts
	// elsewhere marks a process that its cgroup counts. It is here only to deduct
	// its usage when its parent inherits it.
	elsewhere bool
}

func (a account) total() (sum amounts) {
	for i := range sum {
		sum[i] = a.own[i] + a.inherited[i]
	}
	return sum
}

// grown returns how much the inherited usage may have grown between two readings.
func (a account) grown(before account) (by amounts) {
	for i := range by {
		switch by[i] = a.inherited[i] - before.inherited[i]; i {
		case diskRead, diskWritten:
			by[i] = a.total()[i] - before.total()[i]
		case switches:
			by[i] = 0
		}
	}
	return by
}

// ledger sums the usage of a changing set of processes, including those that have
// exited: their usage goes to the parent that waits for them, or, if no parent in
// the set does, stays at the last reading. Only the usage between the last
// reading and the exit of a process without such a parent is lost.
type ledger struct {
	known    map[int]account
	spare    map[int]account // of the reading before, for reuse
	lost     amounts         // last readings of processes whose usage no parent inherited
	deducted amounts         // inherited from processes that are counted elsewhere
	orphans  int             // number of processes that exited without an heir
	exited   int             // number of processes that exited
}

// update enters the current processes and returns the sum.
func (l *ledger) update(now map[int]account) (sum amounts) {
	var gone, goneElsewhere map[int]amounts
	var childrenOf map[int]int
	for pid, old := range l.known {
		if a, lives := now[pid]; lives && a.started == old.started {
			continue
		}
		if l.exited++; gone == nil {
			gone, goneElsewhere, childrenOf = map[int]amounts{}, map[int]amounts{}, map[int]int{}
		}
		heir := l.heir(old, now)
		last := old.total()
		switch {
		case old.elsewhere && heir != 0:
			goneElsewhere[heir] = plus(goneElsewhere[heir], last)
		case old.elsewhere:
		case heir != 0:
			gone[heir] = plus(gone[heir], last)
			childrenOf[heir]++
		default:
			l.lost = plus(l.lost, last)
			l.orphans++
		}
	}
	for heir, last := range gone {
		missed, by := false, now[heir].grown(l.known[heir])
		for i := range last {
			if short := last[i] - by[i]; short > 1e-9 {
				l.lost[i] += short
				missed = missed || i != switches
			}
		}
		if missed {
			l.orphans += childrenOf[heir]
		}
	}
	for heir, last := range goneElsewhere {
		if now[heir].elsewhere {
			continue // both are counted elsewhere
		}
		by := now[heir].grown(l.known[heir])
		for i := range last {
			l.deducted[i] += max(0, min(last[i], by[i]-gone[heir][i]))
		}
	}
	l.known, l.spare = now, l.known
	for _, a := range now {
		if !a.elsewhere {
			sum = plus(sum, a.total())
		}
	}
	for i := range sum {
		sum[i] += l.lost[i] - l.deducted[i]
	}
	return sum
}

// page returns an empty map for the next reading.
func (l *ledger) page() map[int]account {
	page := l.spare
	if l.spare = nil; page == nil {
		return map[int]account{}
	}
	clear(page)
	return page
}

// heir returns the PID of the nearest living ancestor in the set, or 0.
func (l *ledger) heir(of account, now map[int]account) int {
	for range len(l.known) {
		parent, known := l.known[of.parent]
		if !known {
			return 0
		}
		if a, lives := now[of.parent]; lives && a.started == parent.started {
			return of.parent
		}
		of = parent
	}
	return 0
}

func plus(a, b amounts) amounts {
	for i := range a {
		a[i] += b[i]
	}
	return a
}
