package probe

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sort"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"

	"tare/internal/evidence"
	"tare/internal/sample"
)

// period is the time between two samples of a processor, in nanoseconds: some
// two thousand a second, and not in step with the kernel's own ticks.
const period = 500_251

const (
	mostFrames = 48
	mostStacks = 32768
)

// sampler looks at regular times where each processor is. Functions are not
// watched one by one: that would slow those most that are called most.
type sampler struct {
	maps    *maps
	missing string // why there is none
	files   []int
	closers []io.Closer
}

// sampled counts one more sample of where the processor is: by the part of the
// environment that it works for, and by the kernel's stack.
func sampled(w *writer) {
	w.add(asm.StoreImm(asm.RFP, stackKind, hostPart, asm.Word))
	w.current("stack")
	w.add(asm.LoadMem(asm.R1, asm.R7, taskPart, asm.DWord), asm.StoreMem(asm.RFP, stackKind, asm.R1, asm.Word))
	w.mark("stack")
	w.add(
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.LoadMapPtr(asm.R2, w.stacks.FD()),
		asm.Mov.Imm(asm.R3, 0),
		asm.FnGetStackid.Call(), // negative in user mode
		asm.JNE.Imm(asm.R0, -int32(unix.EEXIST), "stored"),
		// Another stack has its place. Without its innermost frame it has another.
		asm.Mov.Reg(asm.R1, asm.R6),
		asm.LoadMapPtr(asm.R2, w.stacks.FD()),
		asm.Mov.Imm(asm.R3, 1),
		asm.FnGetStackid.Call(),
	)
	w.mark("stored")
	w.add(
		asm.StoreMem(asm.RFP, stackKind+4, asm.R0, asm.Word),
		put(asm.RFP, stackOnce, 0),
		asm.LoadMapPtr(asm.R1, w.samples.FD()),
		asm.Mov.Reg(asm.R2, asm.RFP), asm.Add.Imm(asm.R2, stackKind),
		asm.Mov.Reg(asm.R3, asm.RFP), asm.Add.Imm(asm.R3, stackOnce),
		asm.Mov.Imm(asm.R4, 1), // only if it is not there
		asm.FnMapUpdateElem.Call(),
	)
	w.lookup(w.samples, stackKind, "exit")
	w.add(asm.Mov.Imm(asm.R1, 1), asm.AddAtomic.Mem(asm.R0, asm.R1, asm.DWord, 0))
}

func startSampler(m *maps) *sampler {
	s := &sampler{maps: m}
	if err := s.start(); err != nil {
		s.close()
		s.missing = "sampling where the processors are: " + err.Error()
	}
	return s
}

func (s *sampler) start() (err error) {
	for _, m := range []struct {
		to   **ebpf.Map
		spec ebpf.MapSpec
	}{
		{&s.maps.stacks, ebpf.MapSpec{Name: "tare_stacks", Type: ebpf.StackTrace, KeySize: 4, ValueSize: 8 * mostFrames, MaxEntries: mostStacks}},
		{&s.maps.samples, ebpf.MapSpec{Name: "tare_samples", Type: ebpf.Hash, KeySize: 8, ValueSize: 8, MaxEntries: mostStacks}},
	} {
		if *m.to, err = ebpf.NewMap(&m.spec); err != nil {
			return fmt.Errorf("making the map %s: %w", m.spec.Name, err)
		}
		s.closers = append(s.closers, *m.to)
	}
	spec := s.maps.program("tare_sample", "", sampled)
	spec.Type, spec.AttachType = ebpf.PerfEvent, ebpf.AttachNone
	program, err := ebpf.NewProgram(spec)
	if err != nil {
		return fmt.Errorf("loading %s: %w", spec.Name, err)
	}
	s.closers = append(s.closers, program)
	processors, err := online()
	if err != nil {
		return err
	}
	for _, processor := range processors {
		of := unix.PerfEventAttr{Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: unix.PERF_ATTR_SIZE_VER5, Sample: period}
		file, err := unix.PerfEventOpen(&of, -1, processor, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return fmt.Errorf("perf_event_open on processor %d: %w", processor, err)
		}
		s.files = append(s.files, file)
		if err := unix.IoctlSetInt(file, unix.PERF_EVENT_IOC_SET_BPF, program.FD()); err != nil {
			return fmt.Errorf("attaching %s to processor %d: %w", spec.Name, processor, err)
		}
	}
	return nil
}

func (s *sampler) close() {
	for _, file := range s.files {
		unix.Close(file)
	}
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i].Close()
	}
	s.files, s.closers = nil, nil
}

// halt ends the sampling; what was sampled stays.
func (s *sampler) halt() {
	for _, file := range s.files {
		if err := unix.IoctlSetInt(file, unix.PERF_EVENT_IOC_DISABLE, 0); err != nil {
			s.missing = "ending the sampling: " + err.Error()
		}
	}
}

// addTo adds where the time went: for each part, for all, and for the machine.
func (s *sampler) addTo(e *evidence.Evidence, parts []string) {
	if s.missing == "" {
		if err := s.add(e, parts); err != nil {
			s.missing = err.Error()
		}
	}
	if s.missing != "" {
		e.Times[evidence.InKernel], e.Times[evidence.InUser] = sample.Absent("%s", s.missing), sample.Absent("%s", s.missing)
	}
}

func (s *sampler) add(e *evidence.Evidence, parts []string) error {
	symbols, err := readSymbols()
	if err != nil {
		return err
	}
	names := map[int32]string{} // of stacks
	var kind struct {
		Part  uint32
		Stack int32
	}
	var samples uint64
	give := func(times map[string]sample.Figure, name string) {
		times[name] = sample.Known(times[name].Value + float64(samples)*period/1e9)
	}
	for entries := s.maps.samples.Iterate(); entries.Next(&kind, &samples); {
		name, known := names[kind.Stack]
		if !known {
			name = s.nameOf(kind.Stack, symbols)
			names[kind.Stack] = name
		}
		if name == "" {
			continue
		}
		counted := []string{name}
		if strings.HasPrefix(name, evidence.Kernel) {
			counted = append(counted, evidence.InKernel)
		}
		for _, n := range counted {
			give(e.Times, evidence.Host+n)
			if kind.Part == hostPart {
				continue
			}
			give(e.Times, n)
			if part, apart := e.Parts[parts[kind.Part]]; apart {
				give(part.Times, n)
			}
		}
	}
	return nil
}

// nameOf is what a stack is counted as; "" is idle.
func (s *sampler) nameOf(id int32, symbols table) string {
	if id == -int32(unix.EFAULT) {
		return evidence.InUser // no frame of it is in the kernel
	}
	var frames [mostFrames]uint64
	if id < 0 || s.maps.stacks.Lookup(uint32(id), &frames) != nil {
		return evidence.Kernel + other // no room for it
	}
	var stack []symbol
	for _, at := range frames {
		if at == 0 {
			break
		}
		stack = append(stack, symbols.find(at))
	}
	switch name := sectionOf(stack); name {
	case "":
		return ""
	case ownSection:
		return evidence.InProbe
	default:
		return evidence.Kernel + name
	}
}

// table are the kernel's functions by where they lie.
type table []symbol

func (t table) find(at uint64) symbol {
	i := sort.Search(len(t), func(i int) bool { return t[i].at > at })
	if i == 0 {
		return symbol{}
	}
	return t[i-1]
}

func readSymbols() (table, error) {
	file, err := os.Open("/proc/kallsyms")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return parseSymbols(file)
}

// parseSymbols reads lines such as "ffffffff81859ef0 t ovl_read_iter [overlay]".
func parseSymbols(from io.Reader) (t table, err error) {
	lines := bufio.NewScanner(from)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 3 || !strings.ContainsAny(fields[1], "tTwW") {
			continue
		}
		at, err := strconv.ParseUint(fields[0], 16, 64)
		if err != nil {
			return nil, fmt.Errorf("/proc/kallsyms has a line that is no symbol: %q", lines.Text())
		}
		if at == 0 {
			continue
		}
		s := symbol{at: at, name: fields[2]}
		if len(fields) > 3 {
			s.module = strings.Trim(fields[3], "[]")
		}
		t = append(t, s)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(t) == 0 {
		return nil, errors.New("/proc/kallsyms does not say where the kernel's functions lie: see /proc/sys/kernel/kptr_restrict")
	}
	sort.SliceStable(t, func(i, j int) bool { return t[i].at < t[j].at })
	return t, nil
}

// online are the processors that work.
func online() ([]int, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	return parseList(strings.TrimSpace(string(text)))
}

// parseList reads a list such as 0-3,8.
func parseList(text string) (list []int, err error) {
	for _, span := range strings.Split(text, ",") {
		first, last, isSpan := strings.Cut(span, "-")
		if !isSpan {
			last = first
		}
		from, err1 := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("a list of processors: %q: %w", text, err)
		}
		for i := from; i <= to; i++ {
			list = append(list, i)
		}
	}
	return list, nil
}
