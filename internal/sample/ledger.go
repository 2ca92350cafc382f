package sample

// amounts are what a process has used since it started: seconds of user and
// system time, page faults, bytes read from and written to disk, and context
// switches.
type amounts [7]float64

const (
	cpuUser = iota
	cpuSystem
	minorFaults
	majorFaults
	diskRead // from here on the kernel adds what children used to their parent's own
	diskWritten
	switches // of these it tells nobody what children had
)

// account is one process at one look.
type account struct {
	parent  int
	started uint64 // with the number it names one process for good
	own     amounts
	// inherited came over from children that ended and that the process waited
	// for. The kernel keeps it apart for CPU time and page faults; bytes are in
	// own already, and switches nowhere.
	inherited amounts
	// apart marks a process that is counted elsewhere (by its cgroup) and is
	// only watched so that its parent's inheritance can be told from the rest.
	apart bool
}

func (a account) total() (sum amounts) {
	for i := range sum {
		sum[i] = a.own[i] + a.inherited[i]
	}
	return sum
}

// grown is by how much an heir's inheritance may have grown between two looks.
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

// ledger adds up a changing set of processes so that the sum never loses one
// that ended: what a process used goes over to the parent that waits for it,
// and where no watched parent does, the last amounts seen stand. Only what a
// process did between the last look and its end, without a parent that
// inherits, is lost.
type ledger struct {
	known    map[int]account
	spare    map[int]account // of the look before, to be used again
	lost     amounts         // last seen of processes that nobody inherited from
	deducted amounts         // inherited from processes that are counted elsewhere
	orphans  int             // how many processes ended whose amounts nobody took over
	ended    int             // how many processes ended
}

// look takes the processes as they are now and returns the sum.
func (l *ledger) look(now map[int]account) (sum amounts) {
	var gone, goneApart map[int]amounts
	var heirless map[int]int
	for pid, old := range l.known {
		if a, lives := now[pid]; lives && a.started == old.started {
			continue
		}
		if l.ended++; gone == nil {
			gone, goneApart, heirless = map[int]amounts{}, map[int]amounts{}, map[int]int{}
		}
		heir := l.heir(old, now)
		last := old.total()
		switch {
		case old.apart && heir != 0:
			goneApart[heir] = plus(goneApart[heir], last)
		case old.apart:
		case heir != 0:
			gone[heir] = plus(gone[heir], last)
			heirless[heir]++
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
			l.orphans += heirless[heir]
		}
	}
	for heir, last := range goneApart {
		if now[heir].apart {
			continue // heir and child are both counted elsewhere
		}
		by := now[heir].grown(l.known[heir])
		for i := range last {
			l.deducted[i] += max(0, min(last[i], by[i]-gone[heir][i]))
		}
	}
	l.known, l.spare = now, l.known
	for _, a := range now {
		if !a.apart {
			sum = plus(sum, a.total())
		}
	}
	for i := range sum {
		sum[i] += l.lost[i] - l.deducted[i]
	}
	return sum
}

// page is an empty one for the next look.
func (l *ledger) page() map[int]account {
	page := l.spare
	if l.spare = nil; page == nil {
		return map[int]account{}
	}
	clear(page)
	return page
}

// heir is the nearest watched ancestor that lives, or 0.
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
