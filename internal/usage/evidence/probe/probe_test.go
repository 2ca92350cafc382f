package probe

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"tare/internal/linux/cgroup"
	"tare/internal/testing/needs"
	"tare/internal/usage"
	"tare/internal/usage/evidence"
)

// TestMain is also the program that is watched: it prints that it is ready, and
// executes one command per line of its input.
func TestMain(m *testing.M) {
	if os.Getenv("TARE_WATCHED") == "" {
		goleak.VerifyTestMain(m)
	}
	fmt.Println("ready")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		what, number, _ := strings.Cut(lines.Text(), " ")
		n, _ := strconv.Atoi(number)
		if err := actions[what](n); err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println("done")
	}
}

var actions = map[string]func(n int) error{
	"getppid": func(n int) error {
		for range n {
			unix.RawSyscallNoError(unix.SYS_GETPPID, 0, 0, 0)
		}
		return nil
	},
	"touch": func(n int) error {
		memory, err := unix.Mmap(-1, 0, n*os.Getpagesize(), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
		if err != nil {
			return err
		}
		if err := unix.Madvise(memory, unix.MADV_NOHUGEPAGE); err != nil && err != unix.EINVAL {
			return err
		}
		for i := 0; i < len(memory); i += os.Getpagesize() {
			memory[i] = 1
		}
		return unix.Munmap(memory)
	},
	// A child that echoes: each round this process waits for it once.
	"pingpong": func(n int) error {
		child := exec.Command("cat")
		to, _ := child.StdinPipe()
		from, _ := child.StdoutPipe()
		if err := child.Start(); err != nil {
			return err
		}
		one := make([]byte, 1)
		for range n {
			if _, err := to.Write(one); err != nil {
				return err
			}
			if _, err := io.ReadFull(from, one); err != nil {
				return err
			}
		}
		to.Close()
		return child.Wait()
	},
	// As many transfers of 100 bytes and of 8 KiB each, through one of each object.
	"transfer": func(n int) error {
		file, err := os.CreateTemp("", "")
		if err != nil {
			return err
		}
		defer os.Remove(file.Name())
		pipe, pair := [2]int{}, [2]int{}
		if err := unix.Pipe(pipe[:]); err != nil {
			return err
		}
		if pair, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0); err != nil {
			return err
		}
		udp, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return err
		}
		listens, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
		if err != nil {
			return err
		}
		asks, err := net.Dial("tcp4", listens.Addr().String())
		if err != nil {
			return err
		}
		accepts, err := listens.Accept()
		if err != nil {
			return err
		}
		for _, size := range []int{100, 8192} {
			buffer := make([]byte, size)
			for range n {
				errs := []error{}
				for _, do := range []func() (int, error){
					func() (int, error) { return unix.Pwrite(int(file.Fd()), buffer, 0) },
					func() (int, error) { return unix.Pread(int(file.Fd()), buffer, 0) },
					func() (int, error) { return unix.Write(pipe[1], buffer) },
					func() (int, error) { return unix.Read(pipe[0], buffer) },
					func() (int, error) { return unix.Write(pair[0], buffer) },
					func() (int, error) { return unix.Read(pair[1], buffer) },
					func() (int, error) { return udp.WriteTo(buffer, udp.LocalAddr()) },
					func() (int, error) { return udp.Read(buffer) },
					func() (int, error) { return asks.Write(buffer) },
					func() (int, error) { return io.ReadFull(accepts, buffer) },
				} {
					_, err := do()
					errs = append(errs, err)
				}
				if err := errors.Join(errs...); err != nil {
					return err
				}
			}
		}
		return nil
	},
	// Children that exit at once, so that their faults are known from their exit alone.
	"start": func(n int) error {
		for range n {
			if err := exec.Command("true").Run(); err != nil {
				return err
			}
		}
		return nil
	},
}

// watched is the program, in its own cgroup.
type watched struct {
	t         *testing.T
	command   *exec.Cmd
	to        io.Writer
	from      *bufio.Reader
	footprint usage.Footprint
}

func watch(t *testing.T) *watched {
	t.Helper()
	needs.Root(t)
	w := &watched{t: t, command: exec.Command("/proc/self/exe")}
	w.command.Env = append(os.Environ(), "TARE_WATCHED=1")
	to, _ := w.command.StdinPipe()
	from, _ := w.command.StdoutPipe()
	w.to, w.from = to, bufio.NewReader(from)
	if err := w.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		to.Close()
		w.command.Wait()
	})
	w.answer("ready")
	tree, err := cgroup.Host()
	needs.Working(t, "cgroups", err)
	group, err := tree.Create(fmt.Sprintf("/tare-probe-test-%d", w.command.Process.Pid), cgroup.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.command.Process.Kill(); w.command.Wait(); group.Remove() })
	if err := group.Add(w.command.Process.Pid); err != nil {
		t.Fatal(err)
	}
	w.footprint = usage.Footprint{Cgroups: []string{group.Path()}}
	return w
}

func (w *watched) answer(want string) {
	w.t.Helper()
	if got, err := w.from.ReadString('\n'); err != nil || strings.TrimSpace(got) != want {
		w.t.Fatalf("the watched program printed %q, %v; want %q", got, err, want)
	}
}

func (w *watched) do(what string, n int) {
	w.t.Helper()
	fmt.Fprintln(w.to, what, n)
	w.answer("done")
}

// startOrSkip counts with BPF.
func startOrSkip(t *testing.T, depth Depth, f ...usage.Footprint) *tracer {
	t.Helper()
	p, err := startTracer(depth, f)
	needs.Working(t, "BPF", err)
	return p
}

func between(t *testing.T, e evidence.Evidence, name string, least, most float64) {
	t.Helper()
	f, known := e.Counts[name]
	if !known || f.Missing != "" || f.Value < least || f.Value > most {
		t.Errorf("%s is %+v, want %v to %v", name, f, least, most)
	}
}

func TestSystemCallsAreCountedOneByOne(t *testing.T) {
	for _, depth := range []Depth{Syscalls, All} {
		w := watch(t)
		p := startOrSkip(t, depth, w.footprint)
		w.do("getppid", 12345)
		e := p.stop()
		between(t, e, "syscall.getppid", 12345, 12345)
		if f := e.Counts[evidence.Syscalls]; f.Value < 12345 || f.Value > 12345+500 {
			t.Errorf("%v system calls, of which the program made 12345", f)
		}
		if took, known := e.Times["syscall.getppid"]; depth == All && (took.Value <= 0 || took.Value > e.Seconds) {
			t.Errorf("they took %+v of %v s", took, e.Seconds)
		} else if depth == Syscalls && known {
			t.Errorf("a time was taken: %+v", took)
		}
		if _, known := e.Counts[evidence.Voluntary]; depth == Syscalls && known {
			t.Error("more was counted than system calls")
		}
	}
}

func TestFaultsAndSwitchesAreCounted(t *testing.T) {
	w := watch(t)
	p := startOrSkip(t, All, w.footprint)
	w.do("touch", 5000)
	w.do("pingpong", 2000)
	e := p.stop()
	// The program's own run time, and the start of the child, add some hundreds.
	between(t, e, evidence.MinorFaults, 5000, 5000+2000)
	// Each round the child waits at least once, and this program as often unless
	// it polls.
	between(t, e, evidence.Voluntary, 2000, 2000*4+1000)
	if f := e.Times["wait.read"]; f.Value <= 0 || f.Value > 100*e.Seconds {
		t.Errorf("reading waited %+v of %v s", f, e.Seconds)
	}
}

func TestReadsAndWritesAreCountedByWhatTheyGoToAndTheirSize(t *testing.T) {
	w := watch(t)
	p := startOrSkip(t, All, w.footprint)
	w.do("transfer", 300)
	e := p.stop()
	for _, direction := range evidence.Directions {
		for _, object := range evidence.Objects[:5] {
			for size, bytes := range map[string]float64{"small": 100, "large": 8192} {
				name := direction + "." + object + "." + size
				more := 10. // Go's own wake-ups go through a pipe or an event
				if object == "pipe" {
					more = 100
				}
				between(t, e, evidence.Transfer+name, 300, 300+more)
				between(t, e, evidence.Bytes+name, 300*bytes, 300*bytes+100*more)
			}
		}
	}
}

func TestProcessesAndThreadsThatStartAreCounted(t *testing.T) {
	w := watch(t)
	p := startOrSkip(t, All, w.footprint)
	w.do("start", 20)
	e := p.stop()
	between(t, e, evidence.Processes, 20, 22)
	between(t, e, evidence.Threads, 0, 20)
	between(t, e, evidence.Blocked+"syscall.waitid", 1, 100)
}

func TestTasksThatExitAreCounted(t *testing.T) {
	w := watch(t)
	p := startOrSkip(t, All, w.footprint)
	w.do("start", 20)
	e := p.stop()
	between(t, e, "syscall.execve", 20, 40) // a name may be tried in several directories
	between(t, e, evidence.MinorFaults, 20*20, 20*2000)
	if calls := e.Counts["syscall.exit_group"]; calls.Value < 20 || calls.Value > 22 { // Go's own library may try how children are waited for
		t.Errorf("%v children ended, 20 were started", calls.Value)
	}
}

func TestProcessesAroundTheInstanceAreCountedSeparately(t *testing.T) {
	inside, around := watch(t), watch(t)
	f := inside.footprint
	f.Processes = []usage.Process{{PID: around.command.Process.Pid, Role: "proxy"}}
	p := startOrSkip(t, All, f)
	inside.do("getppid", 1000)
	around.do("getppid", 500)
	e := p.stop()
	between(t, e, "syscall.getppid", 1500, 1500)
	between(t, evidence.Evidence{Counts: e.Parts[evidence.Inside].Counts}, "syscall.getppid", 1000, 1000)
	between(t, evidence.Evidence{Counts: e.Parts["proxy"].Counts}, "syscall.getppid", 500, 500)
}

func TestProcessesOutsideTheInstanceAreNotCounted(t *testing.T) {
	inside, other := watch(t), watch(t)
	p := startOrSkip(t, All, inside.footprint)
	other.do("getppid", 1000)
	if e := p.stop(); e.Counts["syscall.getppid"].Value > 0 {
		t.Errorf("another process's calls are in it: %+v", e.Counts["syscall.getppid"])
	}
}

func TestPerfEventsReplaceBPFWhereItIsNotPermitted(t *testing.T) {
	w := watch(t)
	p, err := startPerfCounters(All, []usage.Footprint{w.footprint}, fmt.Errorf("BPF: not permitted"))
	needs.Working(t, "perf events", err)
	w.do("getppid", 4000)
	w.do("touch", 3000)
	w.do("start", 5)
	e := p.stop()
	between(t, e, evidence.Syscalls, 4000, 4000+20000)
	between(t, e, evidence.MinorFaults, 3000, 3000+12000)
	if f := e.Counts[evidence.Voluntary]; f.Missing == "" {
		t.Errorf("voluntary switches are counted: %+v", f)
	}
	if len(e.Notes) == 0 || !strings.Contains(e.Notes[0], "not permitted") {
		t.Errorf("the notes lack the reason: %q", e.Notes)
	}
}

func TestStraceReplacesBPFWhereItIsNotPermitted(t *testing.T) {
	needs.Program(t, "strace")
	w := watch(t)
	s, err := startStrace(t.Context(), []usage.Footprint{w.footprint}, errors.New("BPF: not permitted"))
	needs.Working(t, "strace", err)
	w.do("getppid", 400)
	w.do("transfer", 30)
	w.do("start", 5)
	e := s.stop()
	between(t, e, "syscall.getppid", 400, 400)
	between(t, e, evidence.Processes, 5, 7)
	for _, direction := range evidence.Directions {
		for _, object := range evidence.Objects[:5] {
			between(t, e, evidence.Transfer+direction+"."+object+".small", 30, 30+100)
			between(t, e, evidence.Bytes+direction+"."+object+".large", 30*8192, 30*8192)
		}
	}
	if len(e.Notes) == 0 || !strings.Contains(e.Notes[0], "not permitted") {
		t.Errorf("the notes lack the reason: %q", e.Notes)
	}
	w.do("getppid", 1) // it goes on
}

func TestLinesOfStraceAreCalls(t *testing.T) {
	seen := newTraced()
	for _, line := range strings.Split(strings.TrimSpace(`
7 read(3<TCP:[127.0.0.1:80->127.0.0.1:99]>,  <unfinished ...>
8 openat(AT_FDCWD</>, "x", O_RDONLY) = -1 ENOENT (No such file or directory)
8 sendto(4<UNIX-STREAM:[1->2]>, ""..., 5000, 0, NULL, 0) = 5000
7 <... read resumed>""..., 100)     = 20
7 clone(child_stack=NULL, flags=CLONE_CHILD_SETTID|SIGCHLD, child_tidptr=0x7f) = 9
9 --- SIGCHLD {si_signo=SIGCHLD} ---
9 read(0</dev/null<char 1:3>>, "", 10) = 0
9 <... futex resumed>)               = 0
9 +++ exited with 0 +++
9 exit_group(0)                     = ?`), "\n") {
		seen.add(line)
	}
	for name, n := range map[string]float64{
		evidence.Syscalls: 6, "transfer.read.tcp.small": 1, "bytes.read.tcp.small": 20, "blocked.transfer.read.tcp.small": 1, "blocked.syscall.read": 1,
		evidence.Voluntary: 1, "transfer.write.unix.large": 1, "syscall.openat": 1, evidence.Processes: 1, "transfer.read.other.small": 1, "syscall.exit_group": 1,
	} {
		if seen.counts[name] != n {
			t.Errorf("%s is %g, not %g", name, seen.counts[name], n)
		}
	}
}

func TestWithoutAProcessTheEvidenceIsMissingWithTheReason(t *testing.T) {
	e := Start(t.Context(), All).Stop()
	if f := e.Counts[evidence.Syscalls]; !strings.Contains(f.Missing, "neither a cgroup nor a process") {
		t.Errorf("%+v", f)
	}
}

// leftInKernel returns a function that lists the programs and maps that the
// kernel still has.
func leftInKernel(t *testing.T, closers []io.Closer) func() []string {
	t.Helper()
	programs, maps := map[ebpf.ProgramID]string{}, map[ebpf.MapID]string{}
	for _, c := range closers {
		switch one := c.(type) {
		case *ebpf.Program:
			info, err := one.Info()
			if err != nil {
				t.Fatal(err)
			}
			id, _ := info.ID()
			programs[id] = info.Name
		case *ebpf.Map:
			info, err := one.Info()
			if err != nil {
				t.Fatal(err)
			}
			id, _ := info.ID()
			maps[id] = info.Name
		}
	}
	if len(programs) < 9 || len(maps) < 6 {
		t.Fatalf("only %d programs and %d maps were loaded", len(programs), len(maps))
	}
	return func() (names []string) {
		for id, name := range programs {
			if p, err := ebpf.NewProgramFromID(id); err == nil {
				names = append(names, name)
				p.Close()
			}
		}
		for id, name := range maps {
			if m, err := ebpf.NewMapFromID(id); err == nil {
				names = append(names, name)
				m.Close()
			}
		}
		return names
	}
}

func TestNothingIsLeftInTheKernel(t *testing.T) {
	w := watch(t)
	p := startOrSkip(t, All, w.footprint)
	if p.sampler.missing != "" {
		t.Skip("needs samples: " + p.sampler.missing)
	}
	left := leftInKernel(t, slices.Concat(p.closers, p.sampler.closers))
	p.stop()
	if n := len(p.closers) + len(p.sampler.closers) + len(p.sampler.events); n != 0 {
		t.Errorf("%d links, maps and events were not closed", n)
	}
	// The kernel frees them once no processor can be running them.
	deadline := time.Now().Add(time.Minute)
	for after := left(); len(after) > 0; after = left() {
		if time.Now().After(deadline) {
			t.Fatalf("left behind: %v", after)
		}
		runtime.Gosched()
	}
}

func TestKernelSectionsAreSampled(t *testing.T) {
	w := watch(t)
	p := startOrSkip(t, All, w.footprint)
	if p.sampler.missing != "" {
		t.Skip("needs samples: " + p.sampler.missing)
	}
	w.do("pingpong", 20000)
	e := p.stop()
	kernel, user := e.Times[evidence.InKernel], e.Times[evidence.InUser]
	if kernel.Missing != "" || kernel.Value <= 0 || kernel.Value+user.Value > e.Seconds*float64(runtime.NumCPU()) {
		t.Errorf("%+v s in the kernel and %+v in user mode, of %v", kernel, user, e.Seconds)
	}
	var sum float64
	for name, f := range e.Times {
		if strings.HasPrefix(name, evidence.Kernel) {
			sum += f.Value
		}
	}
	if sum < kernel.Value*.999 || sum > kernel.Value*1.001 {
		t.Errorf("the parts come to %v s, and the kernel to %v", sum, kernel.Value)
	}
	// Bytes through pipes, and a process that wakes another: it is nowhere else.
	if there := e.Times["kernel.pipe"].Value + e.Times["kernel.scheduler"].Value + e.Times["kernel.entry"].Value + e.Times["kernel.vfs"].Value; there < kernel.Value/4 {
		t.Errorf("of %v s in the kernel %v were about pipes and switches: %+v", kernel.Value, there, e.Times)
	}
	if host := e.Times[evidence.Host+evidence.InKernel]; host.Value < kernel.Value {
		t.Errorf("the whole machine was %v s in the kernel, a part of it %v", host.Value, kernel.Value)
	}
}

// The branch for kernels without the state among the tracepoint's arguments is
// verified on this kernel too.
func TestSwitchProgramLoadsWithoutTheStateArgument(t *testing.T) {
	startOrSkip(t, Syscalls, usage.Footprint{Processes: []usage.Process{{PID: os.Getpid(), Role: "self"}}}).stop()
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(countObject))
	if err != nil {
		t.Fatal(err)
	}
	if err := spec.Variables["switch_has_state"].Set(false); err != nil {
		t.Fatal(err)
	}
	var programs struct {
		Switch *ebpf.Program `ebpf:"tare_switch"`
	}
	if err := spec.LoadAndAssign(&programs, nil); err != nil {
		t.Fatal(err)
	}
	programs.Switch.Close()
}

func TestTheLimitOfLockedMemoryIsSetAgain(t *testing.T) {
	limit := func() (l unix.Rlimit) {
		if err := unix.Prlimit(0, unix.RLIMIT_MEMLOCK, nil, &l); err != nil {
			t.Fatal(err)
		}
		return l
	}
	before, calls := limit(), 0
	err := loaded(func() error {
		if calls++; calls == 2 && limit().Cur != unix.RLIM_INFINITY {
			t.Errorf("the second time it is %+v", limit())
		}
		return fmt.Errorf("creating a map: %w", unix.EPERM)
	})
	if after := limit(); !errors.Is(err, unix.EPERM) || after != before {
		t.Errorf("%v; the limit was %+v and is %+v", err, before, after)
	}
	calls = 0
	if err := loaded(func() error { calls++; return unix.EINVAL }); err != unix.EINVAL || calls != 1 {
		t.Errorf("another error: %d calls, %v", calls, err)
	}
}
