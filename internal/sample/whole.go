package sample

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/linux/procfile"
)

// HostUsage is what the whole machine did in the time in which instances were
// watched, so that the kernel's work that is charged to no cgroup comes to light.
// All are seconds of processor time, over all cores, but for Energy.
//
//	Unattributed = CPU − Watched − Tare − Others − KernelThreads
//
// is what no thread was charged with: interrupts, and softirqs outside of
// ksoftirqd, where the kernel counts them apart, and processes that nobody
// watched and that ended meanwhile.
type HostUsage struct {
	Boot    string  `json:"boot,omitempty"` // the kernel's name for itself since it started
	Seconds float64 `json:"s"`
	Cores   int     `json:"cores"`

	CPU     Figure `json:"cpu_s"` // busy with anything
	User    Figure `json:"user_s"`
	System  Figure `json:"system_s"`
	IRQ     Figure `json:"irq_s"`
	SoftIRQ Figure `json:"softirq_s"`
	Steal   Figure `json:"steal_s"` // given to others by the hypervisor; not in CPU

	Watched       Figure `json:"watched_s"` // by the instances
	Tare          Figure `json:"tare_s"`    // by this process
	Others        Figure `json:"others_s"`  // by all other processes
	KernelThreads Figure `json:"kernel_threads_s"`
	Unattributed  Figure `json:"unattributed_s"`
	// Error is how far Unattributed may be off by the kernel's ticks.
	Error Figure `json:"error_s"`
	// IRQTime says whether time in interrupts and softirqs is counted "apart"
	// from that of the thread that they interrupt, or "inside" of it; "" where the
	// kernel's configuration cannot be read.
	IRQTime string `json:"irq_time,omitempty"`
	// Kernel are the kernel's threads that used anything, by name, and Beside the
	// largest of the other processes that still live.
	Kernel         []Part `json:"kernel,omitempty"`
	OtherProcesses []Part `json:"beside,omitempty"`

	Energy Figure `json:"energy_j"` // of all processor packages, by their counters

}

// plus takes the totals of another watching of the same time in: of the same
// machine, or of another one.
func (h *HostUsage) plus(o *HostUsage) *HostUsage {
	switch {
	case h == nil:
		return o
	case o == nil || h == o:
		return h
	}
	sum := *h
	if h.Boot != "" && h.Boot == o.Boot {
		// Either has the other's instances among the others.
		sum.Watched = h.Watched.Plus(o.Watched)
		if sum.Others = h.Others.Minus(o.Watched); sum.Others.Missing == "" {
			sum.Others.Value = max(sum.Others.Value, 0)
		}
		return &sum
	}
	sum.Boot, sum.Seconds, sum.Cores = "", max(h.Seconds, o.Seconds), h.Cores+o.Cores
	theirs := o.figures()
	for i, f := range sum.figures() {
		*f = f.Plus(*theirs[i])
	}
	if h.IRQTime != o.IRQTime {
		sum.IRQTime = ""
	}
	sum.Kernel = mergeParts(h.Kernel, o.Kernel)
	return &sum
}

func (h *HostUsage) figures() []*Figure {
	return []*Figure{&h.CPU, &h.User, &h.System, &h.IRQ, &h.SoftIRQ, &h.Steal, &h.Watched, &h.Tare, &h.Others,
		&h.KernelThreads, &h.Unattributed, &h.Error, &h.Energy}
}

// total are the columns of /proc/stat that are used, in seconds.
type total struct{ user, system, irq, softirq, steal float64 }

func (t total) busy() float64 { return t.user + t.system + t.irq + t.softirq }

// hostWatch reads the machine's totals when the watching begins and when it
// ends.
type hostWatch struct {
	loop   *loop
	began  time.Time
	before map[int]account // every process, with its time so far
	kernel map[int]bool    // those of them that are the kernel's threads
	stat   total
	cores  int
	noStat string
	energy *energy
}

func watchHost(l *loop) *hostWatch {
	h := &hostWatch{loop: l, began: l.on.now(), energy: openEnergy(l.on.sys)}
	// The processes first and the totals right before the instances: at the end
	// it is the other way round, so that what reading takes is in neither.
	h.before, h.kernel = map[int]account{}, map[int]bool{}
	h.walk(func(p *process) {
		h.before[p.pid] = p.account
		if p.kernel {
			h.kernel[p.pid] = true
		}
	})
	var err error
	if h.stat, h.cores, err = l.eyes.total(); err != nil {
		h.noStat = err.Error()
	}
	return h
}

// look is for counters that may come round between beginning and end.
func (h *hostWatch) look(at time.Time) { h.energy.look(at) }

// walk visits every process of the machine.
func (h *hostWatch) walk(visit func(*process)) {
	for _, pid := range numbers(h.loop.on.proc) {
		if p, lives := h.loop.eyes.process(pid, ""); lives {
			visit(p)
			p.close()
		}
	}
}

// total reads /proc/stat.
func (e *eyes) total() (t total, cores int, err error) {
	file := procfile.At(filepath.Join(e.proc, "stat"))
	defer file.Close()
	text, err := file.Read(&e.buffer)
	for line := range procfile.Lines(text) {
		word, rest := procfile.Word(line)
		if len(word) < 3 || string(word[:3]) != "cpu" {
			continue
		}
		if len(word) > 3 {
			cores++
			continue
		}
		var field [8]float64
		for i := range field {
			word, rest = procfile.Word(rest)
			n, _ := procfile.Number(word)
			field[i] = float64(n) / ticks
		}
		// What guests use is in the time of the processes that run them.
		t = total{field[0] + field[1], field[2], field[5], field[6], field[7]}
	}
	return t, cores, err
}

// end compares.
func (h *hostWatch) end() *HostUsage {
	l := h.loop
	u := &HostUsage{Cores: h.cores, Boot: bootOf(l.on.proc), Seconds: l.on.now().Sub(h.began).Seconds(), Energy: h.energy.figure(),
		IRQTime: irqTime(l.on.proc)}
	after, _, err := l.eyes.total()
	if h.noStat == "" && err != nil {
		h.noStat = err.Error()
	}
	u.Watched = Known(0)
	watched := map[int]bool{}
	for _, s := range l.samplers {
		u.Watched = u.Watched.Plus(s.last.CPUUser.Plus(s.last.CPUSystem))
		maps.Copy(watched, s.inside.watched)
		maps.Copy(watched, s.outside.watched)
	}
	now, kernel, beside := map[int]account{}, map[label]*Part{}, map[label]*Part{}
	sees, moved := false, 0
	h.walk(func(p *process) {
		now[p.pid] = p.account
		spent := p.own
		if before, known := h.before[p.pid]; known && before.started == p.started {
			for i := range spent {
				spent[i] -= before.own[i]
			}
		}
		cpu := spent[cpuUser] + spent[cpuSystem]
		if cpu > 0 {
			moved++
		}
		sums, of := beside, label{"other", p.name, ""}
		if sees = sees || p.kernel; p.kernel {
			sums, of = kernel, label{"kernel", family(p.comm), ""}
			h.kernel[p.pid] = true
		}
		if cpu > 0 && !watched[p.pid] && p.pid != os.Getpid() {
			if sums[of] == nil {
				sums[of] = &Part{Role: of.role, Name: of.name}
			}
			sums[of].Processes, sums[of].CPU = sums[of].Processes+1, sums[of].CPU+cpu
		}
	})
	for _, p := range kernel {
		u.KernelThreads.Value += p.CPU
	}
	u.Kernel, u.OtherProcesses = shares(kernel), shares(beside)
	u.OtherProcesses = u.OtherProcesses[:min(len(u.OtherProcesses), largest)]
	if !sees {
		u.KernelThreads = Absent("no thread of the kernel is seen from this namespace of processes")
	}
	self := func(pid int) bool { return pid == os.Getpid() }
	u.Tare = h.grown(now, watched, self)
	u.Others = h.grown(now, watched, func(pid int) bool { return !self(pid) && !h.kernel[pid] })
	if h.noStat != "" {
		for _, f := range []*Figure{&u.CPU, &u.User, &u.System, &u.IRQ, &u.SoftIRQ, &u.Steal} {
			*f = Figure{Missing: h.noStat}
		}
	} else {
		u.CPU = Known(max(after.busy()-h.stat.busy(), 0))
		u.User, u.System = Known(after.user-h.stat.user), Known(after.system-h.stat.system)
		u.IRQ, u.SoftIRQ = Known(after.irq-h.stat.irq), Known(after.softirq-h.stat.softirq)
		u.Steal = Known(max(after.steal-h.stat.steal, 0))
	}
	u.Unattributed = u.CPU.Minus(u.Watched).Minus(u.Tare).Minus(u.Others).Minus(u.KernelThreads)
	u.Unattributed.Value = max(u.Unattributed.Value, 0)
	// A tick at either end of each account, as likely up as down.
	u.Error = Known(math.Sqrt(2*float64(h.cores*4+moved)) / ticks)
	return u
}

// largest is how many of the other processes are named.
const largest = 5

// grown is by how much the time of some processes has grown, with that of those
// they started, waited for and did not share with the watched ones.
func (h *hostWatch) grown(now map[int]account, watched map[int]bool, counts func(pid int) bool) Figure {
	var l ledger
	var sums [2]amounts
	for i, all := range []map[int]account{h.before, now} {
		page := map[int]account{}
		for pid, a := range all {
			if a.apart = watched[pid]; a.apart || counts(pid) {
				page[pid] = a
			}
		}
		sums[i] = l.look(page)
	}
	return Known(max(sums[1][cpuUser]+sums[1][cpuSystem]-sums[0][cpuUser]-sums[0][cpuSystem], 0))
}

// family of a kernel's thread: kworker of kworker/0:1H-kblockd.
func family(comm string) string {
	end := strings.IndexFunc(comm, func(r rune) bool { return r == '/' || r == ':' || r == '-' || r >= '0' && r <= '9' })
	if end > 0 {
		return comm[:end]
	}
	return comm
}

// BootFile holds a kernel's name for itself since it started.
const BootFile = "/proc/sys/kernel/random/boot_id"

// Boot is that of this machine's kernel.
func Boot() string { return bootOf("/proc") }

func bootOf(proc string) string {
	text, _ := os.ReadFile(proc + strings.TrimPrefix(BootFile, "/proc"))
	return strings.TrimSpace(string(text))
}
