package sample

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/procfs"

	"tare/internal/cgroup"
)

// machine is where everything is read from: this one, or a recorded one.
type machine struct {
	groups *cgroup.Tree // nil if there is none
	fs     procfs.FS
	proc   string // /proc
	sys    string // /sys
	now    func() time.Time
}

// Meter counts what an instance uses from its making until Stop.
type Meter interface{ Stop() Usage }

// Sampler watches one instance from Start to Stop.
type Sampler struct {
	on        machine
	footprint Footprint
	groups    []*cgroup.Group

	halt, done chan struct{}
	once       sync.Once

	mu      sync.Mutex
	problem string // why nothing can be counted from groups and processes
	cpu     []cgroup.CPU
	outside ledger // the listed processes and what they started
	within  ledger // the processes in the groups, where v1 counts no disk bytes
	spent   amounts
	based   amounts // the ledgers' sums at the start
	io      cgroup.IO
	ioBased cgroup.IO
	ioWhy   string
	net     traffic
	memory  curve
	final   *Usage
}

// Start begins to watch. Peak and mean of memory are as fine as that, and so is what a process did
// that ends without a parent waiting for it.
func Start(f Footprint, o Options) *Sampler {
	return start(here(), f, o.Every)
}

// here is this machine.
func here() machine {
	on := machine{proc: "/proc", sys: "/sys", now: time.Now}
	on.groups, _ = cgroup.Host()
	on.fs, _ = procfs.NewFS(on.proc)
	return on
}

func start(on machine, f Footprint, every time.Duration) *Sampler {
	if every <= 0 {
		every = 100 * time.Millisecond
	}
	s := &Sampler{on: on, footprint: f, halt: make(chan struct{}), done: make(chan struct{})}
	s.begin()
	go func() {
		defer close(s.done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-s.halt:
				return
			case <-tick.C:
				s.mu.Lock()
				s.look()
				s.mu.Unlock()
			}
		}
	}()
	return s
}

// begin reads everything once, as what later readings are compared with.
func (s *Sampler) begin() {
	if len(s.footprint.Cgroups)+len(s.footprint.Processes) == 0 {
		s.problem = "the environment names neither a cgroup nor a process of the instance"
	}
	for _, path := range outermost(s.footprint.Cgroups) {
		if s.on.groups == nil {
			s.problem = "no cgroup hierarchy is mounted on this machine"
			break
		}
		g := s.on.groups.At(path)
		before, err := g.CPU()
		if err != nil {
			s.problem = err.Error()
		}
		s.groups, s.cpu = append(s.groups, g), append(s.cpu, before)
	}
	for _, p := range s.footprint.Processes {
		if _, lives := readAccount(s.on.fs, p.PID); !lives {
			s.problem = fmt.Sprintf("process %d (%s) was gone when the counting began", p.PID, p.Role)
		}
	}
	s.look()
	s.based, s.ioBased = s.spent, s.io
}

// look reads what has to be read often: memory, processes and interfaces.
func (s *Sampler) look() {
	inside := map[int]bool{}
	for _, g := range s.groups {
		pids, _ := g.Counted()
		for _, pid := range pids {
			inside[pid] = true
		}
	}
	s.net.look(s.on.fs, s.on.proc, s.footprint)

	roots := []int{}
	for _, p := range s.footprint.Processes {
		roots = append(roots, p.PID)
	}
	for pid, a := range s.outside.known {
		// One that left the family because its parent ended still counts.
		if now, lives := readAccount(s.on.fs, pid); lives && now.started == a.started {
			roots = append(roots, pid)
		}
	}
	around := family(s.on.fs, s.on.proc, roots, inside)
	s.spent = s.outside.look(around)
	s.lookDisk(inside)
	s.lookMemory(around)
}

func (s *Sampler) lookDisk(inside map[int]bool) {
	if len(s.groups) == 0 {
		return
	}
	if s.on.groups.Mode() != "v2" {
		within := map[int]account{}
		for pid := range inside {
			if a, lives := readAccount(s.on.fs, pid); lives {
				within[pid] = a
			}
		}
		sum := s.within.look(within)
		s.spent[diskRead] += sum[diskRead]
		s.spent[diskWritten] += sum[diskWritten]
		return
	}
	var sum cgroup.IO
	for _, g := range s.groups {
		io, err := g.IO(s.bottom)
		if err != nil {
			s.ioWhy = err.Error()
			return
		}
		sum.Read, sum.Written = sum.Read+io.Read, sum.Written+io.Written
	}
	s.io, s.ioWhy = sum, ""
}

// bottom says whether a device lies on no other one. What a loop or a mapped
// device moves is moved once more by the device below it.
func (s *Sampler) bottom(device string) bool {
	folder := filepath.Join(s.on.sys, "dev", "block", device)
	if _, err := os.Stat(filepath.Join(folder, "loop")); err == nil {
		return false
	}
	slaves, _ := os.ReadDir(filepath.Join(folder, "slaves"))
	return len(slaves) == 0
}

func (s *Sampler) lookMemory(around map[int]account) {
	var sum float64
	for _, g := range s.groups {
		m, err := g.Memory()
		if err != nil {
			s.memory.missed(err)
			return
		}
		sum += float64(m.WorkingSet())
	}
	for pid, a := range around {
		if a.apart {
			continue
		}
		// One that ended since it was listed holds nothing any more.
		held, _ := resident(s.on.fs, pid)
		sum += held
	}
	s.memory.add(s.on.now(), sum)
}

// Snapshot is the usage from the start until now.
func (s *Sampler) Snapshot() Usage {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.final != nil {
		return *s.final
	}
	return s.usage()
}

// Stop ends the watching and returns the usage from start to end. A later call
// returns the same.
func (s *Sampler) Stop() Usage {
	s.once.Do(func() {
		close(s.halt)
		<-s.done
		s.mu.Lock()
		defer s.mu.Unlock()
		u := s.usage()
		s.final = &u
	})
	return *s.final
}

func (s *Sampler) usage() Usage {
	var u Usage
	// The processor time first: what the reading itself costs comes after it.
	u.CPUUser, u.CPUSystem = s.groupCPU()
	s.look()
	u.NetReceived, u.NetSent = s.net.figures()
	if s.problem != "" {
		why := Absent("%s", s.problem)
		u.CPUUser, u.CPUSystem, u.MemoryPeak, u.MemoryMean, u.DiskRead, u.DiskWritten = why, why, why, why, why, why
		return u
	}
	u.CPUUser = u.CPUUser.Plus(Known(s.spent[cpuUser] - s.based[cpuUser]))
	u.CPUSystem = u.CPUSystem.Plus(Known(s.spent[cpuSystem] - s.based[cpuSystem]))
	u.MemoryPeak, u.MemoryMean = s.memory.figures()
	if s.ioWhy != "" {
		u.DiskRead, u.DiskWritten = Absent("%s", s.ioWhy), Absent("%s", s.ioWhy)
	} else {
		u.DiskRead = Known(s.spent[diskRead] - s.based[diskRead] + float64(s.io.Read-s.ioBased.Read))
		u.DiskWritten = Known(s.spent[diskWritten] - s.based[diskWritten] + float64(s.io.Written-s.ioBased.Written))
	}
	if n := s.outside.orphans; n > 0 {
		u.Notes = append(u.Notes, fmt.Sprintf("%d of the environment's processes ended without a parent that took over their counts: what they used after the last look is missing", n))
	}
	if n := s.within.orphans; n > 0 {
		u.Notes = append(u.Notes, fmt.Sprintf("%d processes in the instance ended without a parent that took over their counts: disk bytes after the last look are missing", n))
	}
	return u
}

func (s *Sampler) groupCPU() (user, system Figure) {
	var u, sy time.Duration
	for i, g := range s.groups {
		now, err := g.CPU()
		if err != nil {
			return Absent("%v", err), Absent("%v", err)
		}
		du, ds := now.Since(s.cpu[i])
		u, sy = u+du, sy+ds
	}
	return Known(u.Seconds()), Known(sy.Seconds())
}

// outermost drops the groups that lie in another one: it counts them already.
func outermost(paths []string) []string {
	list := []string{}
	for i, path := range paths {
		covered := false
		for j, other := range paths {
			if path == other {
				covered = covered || j < i
			} else {
				covered = covered || strings.HasPrefix(path, strings.TrimSuffix(other, "/")+"/")
			}
		}
		if !covered {
			list = append(list, path)
		}
	}
	return list
}

// curve is a quantity that is looked at from time to time.
type curve struct {
	begun, at  time.Time
	last, peak float64
	area       float64 // under the straight lines between the looks
	missing    string
}

func (c *curve) add(at time.Time, v float64) {
	if c.begun.IsZero() {
		c.begun, c.at, c.last, c.peak = at, at, v, v
		return
	}
	c.area += (c.last + v) / 2 * at.Sub(c.at).Seconds()
	c.at, c.last, c.peak = at, v, max(c.peak, v)
}

func (c *curve) missed(err error) { c.missing = err.Error() }

func (c *curve) figures() (peak, mean Figure) {
	if c.begun.IsZero() {
		return Absent("%s", c.missing), Absent("%s", c.missing)
	}
	if span := c.at.Sub(c.begun).Seconds(); span > 0 {
		return Known(c.peak), Known(c.area / span)
	}
	return Known(c.peak), Known(c.last)
}
