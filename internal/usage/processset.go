package usage

import "slices"

// processSet is a changing set of processes with a ledger of their usage.
type processSet struct {
	ledger
	processes map[int]*process
	departed  map[label]amounts // usage of those that exited or left
	started   bool
	spent     amounts // at the previous reading
	// role of a process by its name, for processes added without one.
	role func(name string) string
	// watched has the PIDs of all that were ever in the set.
	watched map[int]bool
}

// label is the key by which processes and threads are summed up.
type label struct{ role, name, thread string }

func (c *processSet) label(p *process) label {
	if p.role == "" {
		return label{c.role(p.name), p.name, ""}
	}
	return label{p.role, p.name, ""}
}

func (c *processSet) add(e *procReader, pid int, role string) (*process, bool) {
	if p := c.processes[pid]; p != nil {
		return p, true
	}
	p, lives := e.process(pid, role)
	if !lives {
		return nil, false
	}
	if !c.started {
		p.first = p.own
	}
	if c.processes == nil {
		c.processes, c.watched = map[int]*process{}, map[int]bool{}
	}
	c.watched[pid] = true
	c.processes[pid] = p
	return p, true
}

// remove removes a process that exited or left.
func (c *processSet) remove(p *process) {
	p.close()
	delete(c.processes, p.pid)
	if c.departed == nil {
		c.departed = map[label]amounts{}
	}
	of := c.label(p)
	c.departed[of] = plus(c.departed[of], p.used())
}

// used returns what a process itself used while it was in the set.
func (p *process) used() (used amounts) {
	for i := range used {
		used[i] = p.own[i] - p.first[i]
	}
	return used
}

// keepOnly makes the set consist of the processes in a sorted list.
func (c *processSet) keepOnly(e *procReader, pids []int) {
	for pid, p := range c.processes {
		if _, stays := slices.BinarySearch(pids, pid); !stays {
			c.remove(p)
		}
	}
	for _, pid := range pids {
		c.add(e, pid, "")
	}
}

// updateLedger enters the processes, and others that are counted elsewhere, into
// the ledger.
func (c *processSet) updateLedger(apart []*process) {
	page := c.page()
	for pid, p := range c.processes {
		page[pid] = p.account
	}
	for _, p := range apart {
		a := p.account
		a.elsewhere = true
		page[p.pid] = a
	}
	c.spent, c.started = c.update(page), true
}

// tasks records the CPU time of all threads, for comparison at the end.
func (c *processSet) tasks(e *procReader) {
	for _, p := range c.processes {
		p.tasks = map[int]float64{}
		e.readTasks(p, func(tid int, _ string, cpu float64) { p.tasks[tid] = cpu })
	}
}

func (c *processSet) close() {
	for _, p := range c.processes {
		p.close()
	}
}
