package sample

import "slices"

// crowd is a changing set of processes that are watched, with the ledger of what
// they used.
type crowd struct {
	ledger
	processes map[int]*process
	departed  map[label]amounts // what those used that ended, while they were watched
	begun     bool
	spent     amounts // at the last look
	// role of a process by its name, where they come without one.
	role func(name string) string
	// watched are the numbers of all that were ever in it.
	watched map[int]bool
}

// label is what processes and threads are summed up by in a table.
type label struct{ role, name, thread string }

func (c *crowd) label(p *process) label {
	if p.role == "" {
		return label{c.role(p.name), p.name, ""}
	}
	return label{p.role, p.name, ""}
}

// admit takes a process in, or finds the one that is there.
func (c *crowd) admit(e *eyes, pid int, role string) (*process, bool) {
	if p := c.processes[pid]; p != nil {
		return p, true
	}
	p, lives := e.process(pid, role)
	if !lives {
		return nil, false
	}
	if !c.begun {
		p.first = p.own
	}
	if c.processes == nil {
		c.processes, c.watched = map[int]*process{}, map[int]bool{}
	}
	c.watched[pid] = true
	c.processes[pid] = p
	return p, true
}

// dismiss lets a process go that ended or left.
func (c *crowd) dismiss(p *process) {
	p.close()
	delete(c.processes, p.pid)
	if c.departed == nil {
		c.departed = map[label]amounts{}
	}
	of := c.label(p)
	c.departed[of] = plus(c.departed[of], p.used())
}

// used is what a process itself used while it was watched.
func (p *process) used() (used amounts) {
	for i := range used {
		used[i] = p.own[i] - p.first[i]
	}
	return used
}

// gather makes the crowd of those in a list, which is in order, and of no
// others.
func (c *crowd) gather(e *eyes, pids []int) {
	for pid, p := range c.processes {
		if _, stays := slices.BinarySearch(pids, pid); !stays {
			c.dismiss(p)
		}
	}
	for _, pid := range pids {
		c.admit(e, pid, "")
	}
}

// settle enters the processes, and others that are counted elsewhere, into the
// ledger.
func (c *crowd) settle(apart []*process) {
	page := c.page()
	for pid, p := range c.processes {
		page[pid] = p.account
	}
	for _, p := range apart {
		a := p.account
		a.apart = true
		page[p.pid] = a
	}
	c.spent, c.begun = c.look(page), true
}

// tasks reads the threads of all once, to be compared with later.
func (c *crowd) tasks(e *eyes) {
	for _, p := range c.processes {
		p.tasks = map[int]float64{}
		e.readTasks(p, func(tid int, _ string, cpu float64) { p.tasks[tid] = cpu })
	}
}

func (c *crowd) close() {
	for _, p := range c.processes {
		p.close()
	}
}
