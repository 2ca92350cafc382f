package usage

import (
	"cmp"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/linux/procfile"
)

// HostUsage is the usage of the whole machine while instances were sampled. It
// shows kernel work that is charged to no cgroup. All but Energy are seconds of
// CPU time, over all cores.
//
//	Unattributed = CPU − Watched − Tare − Others − KernelThreads
//
// is the time that no thread was charged with: interrupts, softirqs outside of
// ksoftirqd if the kernel counts them apart, and other processes that exited in
// the meantime.
type HostUsage struct {
	Boot    string  `json:"boot,omitempty"` // the kernel's boot ID
	Seconds float64 `json:"s"`
	Cores   int     `json:"cores"`

	CPU     Figure `json:"cpu_s"` // busy with anything
	User    Figure `json:"user_s"`
	System  Figure `json:"system_s"`
	IRQ     Figure `json:"irq_s"`
	SoftIRQ Figure `json:"softirq_s"`
	Steal   Figure `json:"steal_s"` // given to other guests by the hypervisor; not in CPU

	Watched       Figure `json:"watched_s"` // by the instances
	Tare          Figure `json:"tare_s"`    // by this process
	Others        Figure `json:"others_s"`  // by all other processes
	KernelThreads Figure `json:"kernel_threads_s"`
	Unattributed  Figure `json:"unattributed_s"`
	// Error is the error of Unattributed due to the kernel's ticks.
	Error Figure `json:"error_s"`
	// IRQTime is how the kernel counts time in interrupts and softirqs: "apart" from
	// the interrupted thread, "inside" its system time, or "" if the kernel's
	// configuration cannot be read.
	IRQTime string `json:"irq_time,omitempty"`
	// Kernel are the kernel threads that ran, by name; OtherProcesses are the
	// largest of the other processes that still exist.
	Kernel         []Part `json:"kernel,omitempty"`
	OtherProcesses []Part `json:"beside,omitempty"`

	Energy Figure `json:"energy_j"` // of all processor packages
}

// plus adds the totals of another sampling in the same time, of the same machine
// or another one.
func (h *HostUsage) plus(o *HostUsage) *HostUsage {
	switch {
	case h == nil:
		return o
	case o == nil || h == o:
		return h
	}
	if h.Boot != "" && h.Boot == o.Boot {
		sum := *h
		// Each has the other's instances in Others.
		sum.Watched = h.Watched.Plus(o.Watched)
		if sum.Others = h.Others.Minus(o.Watched); sum.Others.Missing == "" {
			sum.Others.Value = max(sum.Others.Value, 0)
		}
		return &sum
	}
	sum := h.added(o)
	sum.Boot, sum.Seconds, sum.Cores = "", max(h.Seconds, o.Seconds), h.Cores+o.Cores
	return sum
}

// then adds the totals of a later sampling of the same machine.
func (h *HostUsage) then(o *HostUsage) *HostUsage {
	if h == nil || o == nil {
		return cmp.Or(h, o)
	}
	sum := h.added(o)
	sum.Seconds += o.Seconds
	return sum
}

// added has the sum of the figures.
func (h *HostUsage) added(o *HostUsage) *HostUsage {
	sum := *h
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

// total has the columns of /proc/stat that are used, in seconds.
type total struct {
	user, system, irq, softirq, steal float64
	stolen                            float64 // steal of the reader's cores
}

func (t total) busy() float64 { return t.user + t.system + t.irq + t.softirq }

// hostMeter reads the machine's totals when the sampling begins and when it ends.
type hostMeter struct {
	loop   *loop
	began  time.Time
	before map[int]account // every process
	kernel map[int]bool    // the PIDs of kernel threads
	stat   total
	cores  int
	noStat string
	energy *energy
}

func newHostMeter(l *loop) *hostMeter {
	h := &hostMeter{loop: l, began: l.on.now(), energy: openEnergy(l.on.sys)}
	// Processes first, totals last; at the end the other way round, so that the
	// overhead of reading is in neither.
	h.before, h.kernel = map[int]account{}, map[int]bool{}
	h.walk(func(p *process) {
		h.before[p.pid] = p.account
		if p.kernel {
			h.kernel[p.pid] = true
		}
	})
	var err error
	if h.stat, h.cores, err = l.reader.total(); err != nil {
		h.noStat = err.Error()
	}
	return h
}

// poll reads the counters that may wrap between the beginning and the end.
func (h *hostMeter) poll(at time.Time) { h.energy.poll(at) }

// walk visits every process of the machine.
func (h *hostMeter) walk(visit func(*process)) {
	for _, pid := range numericEntries(h.loop.on.proc) {
		if p, lives := h.loop.reader.process(pid, ""); lives {
			visit(p)
			p.close()
		}
	}
}

// total reads /proc/stat.
func (e *procReader) total() (t total, cores int, err error) {
	if e.totals == nil {
		e.totals = procfile.At(filepath.Join(e.proc, "stat"))
	}
	text, err := e.totals.Read(&e.buffer)
	for line := range procfile.Lines(text) {
		word, rest := procfile.Word(line)
		if len(word) < 3 || string(word[:3]) != "cpu" {
			continue
		}
		core, one := procfile.Number(word[3:])
		if one {
			if cores++; !slices.Contains(e.cores, int(core)) {
				continue
			}
		}
		var field [8]float64
		for i := range field {
			word, rest = procfile.Word(rest)
			n, _ := procfile.Number(word)
			field[i] = float64(n) / ticks
		}
		if one {
			t.stolen += field[7]
			continue
		}
		// The time of guests is in that of the processes that run them.
		t = total{user: field[0] + field[1], system: field[2], irq: field[5], softirq: field[6], steal: field[7]}
	}
	if len(e.cores) == 0 {
		t.stolen = t.steal
	}
	return t, cores, err
}

// end returns the usage since newHostMeter.
func (h *hostMeter) end() *HostUsage {
	l := h.loop
	u := &HostUsage{Cores: h.cores, Boot: bootOf(l.on.proc), Seconds: l.on.now().Sub(h.began).Seconds(), Energy: h.energy.figure(),
		IRQTime: irqTime(l.on.proc)}
	after, _, err := l.reader.total()
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
	now, kernel, others := map[int]account{}, map[label]*Part{}, map[label]*Part{}
	seesKernel, moved := false, 0
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
		sums, of := others, label{"other", p.name, ""}
		if seesKernel = seesKernel || p.kernel; p.kernel {
			sums, of = kernel, label{"kernel", threadKind(p.comm), ""}
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
	u.Kernel, u.OtherProcesses = shares(kernel), shares(others)
	u.OtherProcesses = u.OtherProcesses[:min(len(u.OtherProcesses), maxNamed)]
	if !seesKernel {
		u.KernelThreads = Absent("kernel threads are not visible in this PID namespace")
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
	// One tick at either end of each account, with random sign.
	u.Error = Known(math.Sqrt(2*float64(h.cores*4+moved)) / ticks)
	return u
}

// maxNamed is the number of other processes that are named.
const maxNamed = 5

// grown returns how much the CPU time of some processes has grown, including that
// of children that they waited for and that are not sampled.
func (h *hostMeter) grown(now map[int]account, watched map[int]bool, counts func(pid int) bool) Figure {
	var l ledger
	var sums [2]amounts
	for i, all := range []map[int]account{h.before, now} {
		page := map[int]account{}
		for pid, a := range all {
			if a.elsewhere = watched[pid]; a.elsewhere || counts(pid) {
				page[pid] = a
			}
		}
		sums[i] = l.update(page)
	}
	return Known(max(sums[1][cpuUser]+sums[1][cpuSystem]-sums[0][cpuUser]-sums[0][cpuSystem], 0))
}

// threadKind returns the kind of a kernel thread: kworker for
// kworker/0:1H-kblockd.
func threadKind(comm string) string {
	end := strings.IndexFunc(comm, func(r rune) bool { return r == '/' || r == ':' || r == '-' || r >= '0' && r <= '9' })
	if end > 0 {
		return comm[:end]
	}
	return comm
}

// BootFile has the kernel's boot ID.
const BootFile = "/proc/sys/kernel/random/boot_id"

// Boot returns the boot ID of this machine's kernel.
func Boot() string { return bootOf("/proc") }

func bootOf(proc string) string {
	text, _ := os.ReadFile(proc + strings.TrimPrefix(BootFile, "/proc"))
	return strings.TrimSpace(string(text))
}
