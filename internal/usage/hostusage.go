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

	"golang.org/x/sys/unix"

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

// machineTotals are the cumulative counters of this machine at a moment, or what
// they grew by.
type machineTotals struct {
	at     time.Time
	span   time.Duration
	stat   total
	stolen time.Duration // from the cores of the instances
	tare   float64       // CPU time of this process
	energy Figure        // J
}

// plus adds other totals, or subtracts them: times is 1 or -1.
func (t machineTotals) plus(o machineTotals, times float64) machineTotals {
	t.span += o.span
	t.stolen += time.Duration(times) * o.stolen
	t.tare += times * o.tare
	t.energy = t.energy.Plus(o.energy.Over(times))
	t.stat = total{
		user: t.stat.user + times*o.stat.user, system: t.stat.system + times*o.stat.system, irq: t.stat.irq + times*o.stat.irq,
		softirq: t.stat.softirq + times*o.stat.softirq, steal: t.stat.steal + times*o.stat.steal, stolen: t.stat.stolen + times*o.stat.stolen,
	}
	return t
}

// hostMeter reads the machine's totals at the beginning and at the end of samples; the
// whole time is one where a timer reads.
type hostMeter struct {
	energy          *energy
	began, sum      machineTotals
	noStat, noSteal string
	cores           int
	processes       *allProcesses // nil between edges
}

func (h *hostMeter) open(g *Sampling) {
	h.energy = openEnergy(g.on.sys)
	if g.options.AtEdges {
		return
	}
	// Processes first, totals last; at the end the other way round, so that the
	// overhead of reading is in neither.
	h.processes = newAllProcesses(g)
	h.began = h.read(g)
}

// read reads the machine's counters.
func (h *hostMeter) read(g *Sampling) machineTotals {
	now := machineTotals{at: g.on.now(), tare: ownTime(), energy: h.energy.total()}
	var err error
	if now.stat, h.cores, err = g.reader.total(); err != nil {
		h.noStat = err.Error()
	}
	if now.stolen = time.Duration(math.Round(now.stat.stolen*ticks)) * (time.Second / ticks); g.on.stolen != nil {
		now.stolen, err = g.on.stolen(g.reader.cores)
	}
	if err != nil {
		h.noSteal = err.Error()
	}
	return now
}

// add adds a sample that ends now. It returns the time that was stolen in it.
func (h *hostMeter) add(g *Sampling) (stolen time.Duration) {
	now := h.read(g)
	took := now.plus(h.began, -1)
	took.span = now.at.Sub(h.began.at)
	h.sum = h.sum.plus(took, 1)
	return took.stolen
}

func (h *hostMeter) close(g *Sampling) *HostUsage {
	if h.processes != nil {
		h.add(g)
	}
	u := &HostUsage{Cores: h.cores, Boot: bootOf(g.on.proc), IRQTime: irqTime(g.on.proc), Seconds: h.sum.span.Seconds()}
	for _, s := range g.Samplers {
		u.Watched = u.Watched.Plus(s.record.last.CPUUser.Plus(s.record.last.CPUSystem))
	}
	stat := func(v float64) Figure {
		if h.noStat != "" {
			return Figure{Missing: h.noStat}
		}
		return Known(max(v, 0))
	}
	u.CPU, u.User, u.System = stat(h.sum.stat.busy()), stat(h.sum.stat.user), stat(h.sum.stat.system)
	u.IRQ, u.SoftIRQ, u.Steal = stat(h.sum.stat.irq), stat(h.sum.stat.softirq), stat(h.sum.stat.steal)
	u.Energy = h.sum.energy
	h.energy.close()
	if h.processes != nil {
		h.processes.divide(u, g)
		return u
	}
	absent := Absent("the processes of the whole machine are not read between samples that alternate")
	u.Others, u.KernelThreads, u.Unattributed, u.Error = absent, absent, absent, absent
	u.Tare = Known(h.sum.tare)
	return u
}

// ownTime is the CPU time of this process in seconds.
func ownTime() float64 {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// allProcesses are those of the machine, when the sampling began.
type allProcesses struct {
	before map[int]account
	kernel map[int]bool // the PIDs of kernel threads
}

func newAllProcesses(g *Sampling) *allProcesses {
	a := &allProcesses{before: map[int]account{}, kernel: map[int]bool{}}
	g.reader.walk(func(p *process) {
		a.before[p.pid], a.kernel[p.pid] = p.account, p.kernel
	})
	return a
}

// walk visits every process of the machine.
func (e *procReader) walk(visit func(*process)) {
	for _, pid := range numericEntries(e.proc) {
		if p, lives := e.process(pid, ""); lives {
			visit(p)
			p.close()
		}
	}
}

// divide divides the CPU time since the beginning among the processes.
func (a *allProcesses) divide(u *HostUsage, g *Sampling) {
	watched := map[int]bool{}
	for _, s := range g.Samplers {
		maps.Copy(watched, s.inside.watched)
		maps.Copy(watched, s.outside.watched)
	}
	now, kernel, others := map[int]account{}, map[label]*Part{}, map[label]*Part{}
	seesKernel, moved := false, 0
	g.reader.walk(func(p *process) {
		now[p.pid] = p.account
		spent := p.own
		if before, known := a.before[p.pid]; known && before.started == p.started {
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
			a.kernel[p.pid] = true
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
	u.Tare = a.grown(now, watched, self)
	u.Others = a.grown(now, watched, func(pid int) bool { return !self(pid) && !a.kernel[pid] })
	u.Unattributed = u.CPU.Minus(u.Watched).Minus(u.Tare).Minus(u.Others).Minus(u.KernelThreads)
	u.Unattributed.Value = max(u.Unattributed.Value, 0)
	// One tick at either end of each account, with random sign.
	u.Error = Known(math.Sqrt(2*float64(u.Cores*4+moved)) / ticks)
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

// maxNamed is the number of other processes that are named.
const maxNamed = 5

// grown returns how much the CPU time of some processes has grown, including that
// of children that they waited for and that are not sampled.
func (a *allProcesses) grown(now map[int]account, watched map[int]bool, counts func(pid int) bool) Figure {
	var l ledger
	var sums [2]amounts
	for i, all := range []map[int]account{a.before, now} {
		page := map[int]account{}
		for pid, one := range all {
			if one.elsewhere = watched[pid]; one.elsewhere || counts(pid) {
				page[pid] = one
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
