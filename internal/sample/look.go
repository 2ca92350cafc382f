package sample

// lookProcesses adds what processes say themselves: those outside of the groups
// all, those in the groups what no group's file has.
func (s *Sampler) lookProcesses(r *Reading, when stage) {
	s.lookInside(r, when)
	s.lookOutside(when)
	if when == first && !s.ofStart {
		s.inside.tasks(s.eyes)
		s.outside.tasks(s.eyes)
	}
	threads := 0.
	for _, p := range s.outside.processes {
		r.Memory.more(p.held)
		threads += p.threads
	}
	r.Threads.more(threads)
	r.Processes = Known(float64(len(s.pids) + len(s.outside.processes)))
	spent := &s.outside.spent
	r.CPU.more(spent[cpuUser] + spent[cpuSystem])
	r.CPUUser.more(spent[cpuUser])
	r.CPUSystem.more(spent[cpuSystem])
	r.MinorFaults.more(spent[minorFaults])
	r.MajorFaults.more(spent[majorFaults])
	r.DiskRead.more(spent[diskRead])
	r.DiskWritten.more(spent[diskWritten])
	r.Switches.more(spent[switches])
}

// lookInside reads the processes in the groups.
func (s *Sampler) lookInside(r *Reading, when stage) {
	if len(s.groups) == 0 {
		return
	}
	countThem := false // what the groups do not
	if !s.idle {
		before := s.threads
		s.threads = 0
		for _, g := range s.groups {
			n, err := g.Threads()
			s.threads += float64(n)
			countThem = countThem || err != nil
		}
		// One that comes where another one ends is found by the other's absence.
		if s.listed = s.thorough || countThem || s.threads != before || s.eyes.tasks == nil; s.listed {
			s.list()
		}
	}
	bytes := s.on.groups.Mode() != "v2" // which v1's groups do not count
	// Of many processes each is looked at more seldom, so that a look never takes
	// long; where every thread must be asked for its switches, once a second.
	const many = 32
	switch stride := 1 + len(s.pids)/many; {
	case s.idle:
	case when == usual && s.looks%stride > 0:
		why := Figure{Missing: "more than 32 processes are not read at every look"}
		if r.Switches = why; bytes {
			r.DiskRead, r.DiskWritten = why, why
		}
		if r.Threads.more(s.threads); countThem {
			r.Threads = why
		}
		return
	default:
		s.readInside(r, when, bytes, countThem)
	}
	if bytes {
		r.DiskRead.more(s.inside.spent[diskRead])
		r.DiskWritten.more(s.inside.spent[diskWritten])
	}
	r.Switches.more(s.inside.spent[switches])
	r.Threads.more(s.threads)
}

// list finds the processes in the groups.
func (s *Sampler) list() {
	s.pids = s.pids[:0]
	for _, g := range s.groups {
		s.pids = g.Processes(s.pids)
	}
	s.listed = true
}

func (s *Sampler) readInside(r *Reading, when stage, bytes, countThem bool) {
	heard := s.eyes.tasks != nil || s.thorough // else every thread must be asked
	s.inside.gather(s.eyes, s.pids)
	told, gone := s.readEach(when, heard, bytes, countThem)
	if gone && !s.listed {
		s.list()
		s.inside.gather(s.eyes, s.pids)
		more, _ := s.readEach(when, heard, bytes, countThem)
		told = told || more
	}
	s.inside.settle(nil)
	switch {
	case !heard:
		r.Switches = Figure{Missing: skipped}
	case !told && len(s.inside.processes) > 0:
		r.Switches = Figure{Missing: "the kernel tells no context switches of these processes"}
	}
}

// readEach reads those processes in the groups that this look has not read yet:
// whether the kernel told switches of one, and whether one was gone.
func (s *Sampler) readEach(when stage, heard, bytes, countThem bool) (told, gone bool) {
	for _, p := range s.inside.processes {
		if p.read == s.looks+1 {
			continue
		}
		p.read = s.looks + 1
		if s.thorough || countThem || p.young > 0 {
			p.young--
			s.eyes.readStat(p)
		}
		ran := true
		if heard {
			var known bool
			ran, known = s.eyes.readSwitches(p)
			told, gone = told || known, gone || !known
			// So that one that ends has its share, though it is seldom divided: the
			// ledger does not take the time of those in groups.
			if time := float64(p.ran) / 1e6; time > p.own[cpuUser]+p.own[cpuSystem] {
				p.own[cpuUser] = time - p.own[cpuSystem]
			}
		}
		if !ran {
			p.still = s.looks + 1
		}
		if bytes && ran {
			s.eyes.readIO(p)
		}
		if countThem {
			s.threads += p.threads
		}
		if when == last {
			s.eyes.readStatus(p)
		}
	}
	return told, gone
}

// lookOutside reads the listed processes and what they started.
func (s *Sampler) lookOutside(when stage) {
	s.quiet = when == usual
	if len(s.footprint.Processes) == 0 {
		return
	}
	wanting := s.thorough
	for _, p := range s.outside.processes {
		// Those that serve an instance sleep most of the time.
		if ran, _ := s.eyes.readSwitches(p); !ran && when == usual {
			continue
		}
		s.quiet, s.grown = false, true
		if !s.eyes.readStat(p) {
			s.outside.dismiss(p)
			wanting = true
			continue
		}
		s.eyes.readIO(p)
		s.eyes.readStatus(p)
	}
	// Who has not run has started nothing.
	if wanting && s.grown {
		s.family()
		s.grown = false
	}
	living := s.apart[:0]
	for _, p := range s.apart {
		if when == usual && s.still(p.pid) || s.eyes.readStat(p) && s.eyes.readIO(p) {
			living = append(living, p)
		} else {
			p.close()
		}
	}
	s.apart = living
	s.outside.settle(s.apart)
}

// still says whether a process in the groups has certainly not run since the
// look before this one.
func (s *Sampler) still(pid int) bool {
	p := s.inside.processes[pid]
	return s.idle || p != nil && p.still == s.looks+1
}

// family finds what the listed processes have started meanwhile. One that left
// the family because its parent ended still counts.
func (s *Sampler) family() {
	queue := make([]*process, 0, len(s.outside.processes))
	for _, p := range s.outside.processes {
		queue = append(queue, p)
	}
	for ; len(queue) > 0; queue = queue[1:] {
		parent := queue[0]
		for _, pid := range s.eyes.children(parent.pid) {
			if s.counted(pid) {
				s.setApart(pid) // and its children are in the cgroup as well
				continue
			}
			if _, known := s.outside.processes[pid]; known {
				continue
			}
			if p, lives := s.outside.admit(s.eyes, pid, parent.role); lives {
				s.eyes.readSwitches(p)
				s.eyes.readIO(p)
				s.eyes.readStatus(p)
				queue = append(queue, p)
			}
		}
	}
}

// counted says whether a process is in one of the groups.
func (s *Sampler) counted(pid int) bool {
	for _, p := range s.pids {
		if p == pid {
			return true
		}
	}
	return false
}

func (s *Sampler) setApart(pid int) {
	for _, p := range s.apart {
		if p.pid == pid {
			return
		}
	}
	if p, lives := s.eyes.process(pid, ""); lives {
		s.apart = append(s.apart, p)
	}
}
