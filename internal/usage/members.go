package usage

import "slices"

// readProcesses adds the counters of processes: all counters of those outside the
// groups, and of those in the groups the counters that the group lacks.
func (s *Sampler) readProcesses(r *Reading, when stage) {
	s.readInside(r, when)
	s.readOutside(when)
	if when == first && !s.sampling.options.sinceCreation {
		s.inside.tasks(s.reader)
		s.outside.tasks(s.reader)
	}
	threads := 0.
	for _, p := range s.outside.processes {
		r.Memory.more(p.memory)
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

// readInside reads the processes in the groups.
func (s *Sampler) readInside(r *Reading, when stage) {
	if len(s.groups) == 0 {
		return
	}
	countThreads := false // if a group does not
	if !s.idle {
		before := s.threads
		s.threads = 0
		for _, g := range s.groups {
			n, err := g.Threads()
			s.threads += float64(n)
			countThreads = countThreads || err != nil
		}
		// If a process starts as another exits, readMembers finds the exited one
		// missing and lists them again.
		if s.listed = s.full || countThreads || s.threads != before || s.reader.tasks == nil; s.listed {
			s.list()
		}
	}
	bytes := s.sampling.on.groups.Mode() != "v2" // groups of v1 do not count them
	// With many processes, each is read less often, to bound the time of a reading.
	const perReading = 32
	switch stride := 1 + len(s.pids)/perReading; {
	case s.idle:
	case when == usual && s.readings%stride > 0:
		absent := Figure{Missing: "more than 32 processes are not read in every reading"}
		if r.Switches = absent; bytes {
			r.DiskRead, r.DiskWritten = absent, absent
		}
		if r.Threads.more(s.threads); countThreads {
			r.Threads = absent
		}
		return
	default:
		s.readMembers(r, when, bytes, countThreads)
	}
	if bytes {
		r.DiskRead.more(s.inside.spent[diskRead])
		r.DiskWritten.more(s.inside.spent[diskWritten])
	}
	r.Switches.more(s.inside.spent[switches])
	r.Threads.more(s.threads)
}

// list lists the processes in the groups.
func (s *Sampler) list() {
	s.pids = s.pids[:0]
	for _, g := range s.groups {
		s.pids = g.Processes(s.pids)
	}
	slices.Sort(s.pids) // of several groups
	s.listed = true
}

func (s *Sampler) readMembers(r *Reading, when stage, bytes, countThreads bool) {
	// Without taskstats each thread is read, so only in full readings.
	readSwitches := s.reader.tasks != nil || s.full
	s.inside.keepOnly(s.reader, s.pids)
	known, gone := s.readEach(when, readSwitches, bytes, countThreads)
	if gone && !s.listed {
		s.list()
		s.inside.keepOnly(s.reader, s.pids)
		more, _ := s.readEach(when, readSwitches, bytes, countThreads)
		known = known || more
	}
	s.inside.updateLedger(nil)
	switch {
	case !readSwitches:
		r.Switches = Figure{Missing: notRead}
	case !known && len(s.inside.processes) > 0:
		r.Switches = Figure{Missing: "the kernel reports no context switches of these processes"}
	}
}

// readEach reads the processes in the groups that this reading lacks. known
// reports whether the kernel gave the switches of any, gone whether any had
// exited.
func (s *Sampler) readEach(when stage, readSwitches, bytes, countThreads bool) (known, gone bool) {
	for _, p := range s.inside.processes {
		if p.read == s.readings+1 {
			continue
		}
		p.read = s.readings + 1
		if s.full || countThreads || p.nameReadings > 0 {
			p.nameReadings--
			s.reader.readStat(p)
		}
		ran := true
		if readSwitches {
			var ok bool
			ran, ok = s.reader.readSwitches(p)
			known, gone = known || ok, gone || !ok
			// The division by process is read only in full readings. This gives a
			// process that exits in between its share.
			if time := float64(p.ran) / 1e6; time > p.own[cpuUser]+p.own[cpuSystem] {
				p.own[cpuUser] = time - p.own[cpuSystem]
			}
		}
		if !ran {
			p.unchanged = s.readings + 1
		}
		if bytes && ran {
			s.reader.readIO(p)
		}
		if countThreads {
			s.threads += p.threads
		}
		if when == last {
			s.reader.readStatus(p)
		}
	}
	return known, gone
}

// readOutside reads the listed processes and their descendants.
func (s *Sampler) readOutside(when stage) {
	s.listedIdle = when == usual
	if len(s.footprint.Processes) == 0 {
		return
	}
	findChildren := s.full && !s.record.paused // the beginning of a sample follows on the end of another
	for _, p := range s.outside.processes {
		// Processes that serve an instance sleep most of the time.
		if ran, _ := s.reader.readSwitches(p); !ran && (when == usual || when == edge) {
			continue
		}
		s.listedIdle, s.mayHaveForked = false, true
		if !s.reader.readStat(p) {
			s.outside.remove(p)
			findChildren = true
			continue
		}
		s.reader.readIO(p)
		s.reader.readStatus(p)
	}
	// A process that has not run has started nothing.
	if findChildren && s.mayHaveForked {
		s.addDescendants()
		s.mayHaveForked = false
	}
	living := s.elsewhere[:0]
	for _, p := range s.elsewhere {
		if when == usual && s.unchanged(p.pid) || s.reader.readStat(p) && s.reader.readIO(p) {
			living = append(living, p)
		} else {
			p.close()
		}
	}
	s.elsewhere = living
	s.outside.updateLedger(s.elsewhere)
}

// unchanged reports whether a process in the groups has certainly not run since
// the previous reading.
func (s *Sampler) unchanged(pid int) bool {
	p := s.inside.processes[pid]
	return s.idle || p != nil && p.unchanged == s.readings+1
}

// addDescendants finds the processes that the listed ones have started. One that
// was reparented because its parent exited still counts.
func (s *Sampler) addDescendants() {
	queue := make([]*process, 0, len(s.outside.processes))
	for _, p := range s.outside.processes {
		queue = append(queue, p)
	}
	for ; len(queue) > 0; queue = queue[1:] {
		parent := queue[0]
		for _, pid := range s.reader.children(parent.pid) {
			if slices.Contains(s.pids, pid) {
				s.addElsewhere(pid) // the cgroup has its children as well
				continue
			}
			if _, known := s.outside.processes[pid]; known {
				continue
			}
			if p, lives := s.outside.add(s.reader, pid, parent.role); lives {
				s.reader.readSwitches(p)
				s.reader.readIO(p)
				s.reader.readStatus(p)
				queue = append(queue, p)
			}
		}
	}
}

func (s *Sampler) addElsewhere(pid int) {
	for _, p := range s.elsewhere {
		if p.pid == pid {
			return
		}
	}
	if p, lives := s.reader.process(pid, ""); lives {
		s.elsewhere = append(s.elsewhere, p)
	}
}
