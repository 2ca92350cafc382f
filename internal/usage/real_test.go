package usage

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"tare/internal/linux/cgroup"
	"tare/internal/testing/gobuild"
	"tare/internal/testing/needs"
)

// The tests of this file use up real resources in a process of their own.
func TestMain(m *testing.M) {
	if what := os.Getenv("TARE_TEST_USE"); what != "" {
		if err := use(what); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// use waits for a line, uses something up, prints how much processor time that
// took, and waits for the end.
func use(what string) error {
	in := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	if _, err := in.ReadString('\n'); err != nil {
		return err
	}
	begun := spent()
	var hog []byte
	switch {
	case what == "cpu":
		burn(300 * time.Millisecond)
	case what == "child": // and a child that ends between two looks
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "TARE_TEST_USE=cpu")
		cmd.Stdin = strings.NewReader("go\n")
		if err := cmd.Run(); err != nil {
			return err
		}
	case what == "memory":
		hog = make([]byte, 64<<20)
		for i := 0; i < len(hog); i += 4096 {
			hog[i] = 1
		}
	case strings.HasPrefix(what, "disk:"):
		f, err := os.Create(strings.TrimPrefix(what, "disk:"))
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := f.Write(make([]byte, 8<<20)); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	fmt.Println("done", (spent() - begun).Seconds())
	_, err := io.Copy(io.Discard, in)
	if len(hog) > 0 {
		hog[0]++
	}
	return err
}

// spent is the processor time of this process and of its children that ended.
func spent() (total time.Duration) {
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var r unix.Rusage
		_ = unix.Getrusage(who, &r)
		total += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	return total
}

func burn(d time.Duration) {
	for begun := spent(); spent()-begun < d; {
		for i := range 1 << 14 {
			canarySink += uint64(i)
		}
	}
}

// user is a process that does something when told to.
type user struct {
	pid  int
	in   io.WriteCloser
	out  *bufio.Reader
	wait func() error
}

func begin(t *testing.T, what string) *user {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TARE_TEST_USE="+what)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
	u := &user{cmd.Process.Pid, in, bufio.NewReader(out), cmd.Wait}
	u.expect(t, "ready\n")
	return u
}

// expect scans the next line of the process as fmt.Sscanf does.
func (u *user) expect(t *testing.T, format string, values ...any) {
	t.Helper()
	line, err := u.out.ReadString('\n')
	if err == nil {
		_, err = fmt.Sscanf(line, format, values...)
	}
	if err != nil {
		t.Fatalf("the process printed %q, want %q: %v", line, format, err)
	}
}

// act lets the process do it, and returns the seconds of processor time that it
// took by the process's own account.
func (u *user) act(t *testing.T) (cpu float64) {
	t.Helper()
	if _, err := io.WriteString(u.in, "go\n"); err != nil {
		t.Fatal(err)
	}
	u.expect(t, "done %g\n", &cpu)
	return cpu
}

// group makes a cgroup on this machine.
func group(t *testing.T) *cgroup.Group {
	t.Helper()
	needs.Root(t)
	g, err := cgroup.Create("/tare-test-usage-"+strings.ToLower(t.Name()), cgroup.Limits{})
	needs.Working(t, "cgroups that can be written to", err)
	t.Cleanup(func() {
		if err := g.Kill(context.Background()); err != nil {
			t.Error(err)
		}
		if err := g.Remove(); err != nil {
			t.Error(err)
		}
	})
	return g
}

func between(t *testing.T, what string, f Figure, low, high float64) {
	t.Helper()
	if f.Missing != "" || f.Value < low || f.Value > high {
		t.Errorf("%s is %+v, want %g to %g", what, f, low, high)
	}
}

// betweenReadings is how much more or less processor time than the process's own
// account two readings around it may show: ticks of 10 ms, and what the process
// does before and after. It is less than the work, which must not count twice.
const betweenReadings = .1

func TestCPUTimeInACgroupIsCounted(t *testing.T) {
	g := group(t)
	for _, what := range []string{"cpu", "child"} {
		u := begin(t, what)
		if err := g.Add(u.pid); err != nil {
			t.Fatal(err)
		}
		s := Start(Footprint{Cgroups: []string{g.Path()}}, Options{})
		want := u.act(t)
		usage := s.Stop()
		between(t, "processor time of "+what, usage.CPU(), want-betweenReadings, want+betweenReadings)
		between(t, "user time of "+what, usage.CPUUser, want/5, want+betweenReadings) // an emulated guest takes more in its kernel
		if usage.NetSent.Missing == "" {
			t.Error("network bytes are a number although nothing could count them")
		}
	}
}

func TestCPUTimeOfAListedProcessAndItsChildrenIsCounted(t *testing.T) {
	for _, what := range []string{"cpu", "child"} {
		u := begin(t, what)
		s := Start(Footprint{Processes: []Process{{u.pid, "proxy"}}}, Options{Every: never})
		want := u.act(t)
		usage := s.Stop()
		between(t, "processor time of "+what, usage.CPU(), want-betweenReadings, want+betweenReadings)
		between(t, "memory of "+what, usage.MemoryPeak, 100<<10, 1<<30)
	}
}

func TestMemoryIsCounted(t *testing.T) {
	g := group(t)
	u := begin(t, "memory")
	if err := g.Add(u.pid); err != nil {
		t.Fatal(err)
	}
	s := Start(Footprint{Cgroups: []string{g.Path()}}, Options{Every: never})
	u.act(t)
	usage := s.Stop()
	most := 90.0 * (1 << 20)
	if gobuild.Raced() { // whose memory about each byte counts too
		most *= 2
	}
	between(t, "peak of memory", usage.MemoryPeak, 60<<20, most)
	if mean := usage.MemoryMean; mean.Missing != "" || mean.Value >= usage.MemoryPeak.Value {
		t.Errorf("mean %+v of peak %+v", mean, usage.MemoryPeak)
	}
}

func TestBytesWrittenToDiskAreCounted(t *testing.T) {
	g := group(t)
	directory := needs.Disk(t)
	var fs unix.Statfs_t
	if err := unix.Statfs(directory, &fs); err != nil || fs.Type == unix.TMPFS_MAGIC {
		t.Skip("needs a disk: /var/tmp is in memory")
	}
	u := begin(t, "disk:"+filepath.Join(directory, "file"))
	if err := g.Add(u.pid); err != nil {
		t.Fatal(err)
	}
	s := Start(Footprint{Cgroups: []string{g.Path()}}, Options{Every: never})
	u.act(t)
	usage := s.Stop()
	// The cgroup's io controller may be off on a machine with v2.
	if usage.DiskWritten.Missing != "" {
		t.Skipf("needs disk bytes: %s", usage.DiskWritten.Missing)
	}
	between(t, "bytes written", usage.DiskWritten, 8<<20, 10<<20)
}

// The benchmarks are one pass over ten instances, each a group with a process, a
// network and a process beside it: all asleep, or at work between the passes.
func BenchmarkPassOverSleepers(b *testing.B) { benchmarkPass(b, "exec sleep 1000", 0) }

func BenchmarkPassOverWorkers(b *testing.B) {
	benchmarkPass(b, "exec perl -e 'while (1) { select(undef, undef, undef, 0.005) }'", 100*time.Millisecond)
}

func benchmarkPass(b *testing.B, script string, between time.Duration) {
	var targets []Target
	for n := range 10 {
		g, err := cgroup.Create(fmt.Sprintf("/tare-test-usage-pass-%d", n), cgroup.Limits{})
		if err != nil {
			b.Skip(err)
		}
		sleeper := func() int {
			cmd := exec.Command("sleep", "1000")
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
			return cmd.Process.Pid
		}
		cmd := exec.Command("sh", append([]string{"-c", `for p in "$@"; do echo 0 > "$p"; done; ` + script, "sh"}, g.ProcsFiles()...)...)
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { g.Kill(context.Background()); cmd.Wait(); g.Remove() })
		for { // until it has moved
			if pids, _ := g.PIDs(); len(pids) > 0 {
				break
			}
		}
		targets = append(targets, Target{Footprint: Footprint{Cgroups: []string{g.Path()}, Processes: []Process{{sleeper(), "shim"}}, Devices: []string{"lo"}}})
	}
	l := StartAll(Options{Every: Never}, targets...)
	defer l.Close()
	b.ReportAllocs()
	used, n := l.effort.CPU, 0
	for b.Loop() {
		time.Sleep(between)
		l.pass(usual)
		n++
	}
	b.ReportMetric((l.effort.CPU-used)/float64(n)*1e6, "cpu-µs/op")
}

func TestAProcessThatReplacesAnotherIsFoundInTheSameReading(t *testing.T) {
	g := group(t)
	sleeper := func() *exec.Cmd {
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		if err := g.Add(cmd.Process.Pid); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	a := sleeper()
	s := Start(Footprint{Cgroups: []string{g.Path()}}, Options{Every: Never})
	defer s.Stop()
	if s.inside.processes[a.Process.Pid] == nil {
		t.Fatal("the first reading has not found the process")
	}
	a.Process.Kill()
	a.Wait()
	b := sleeper()
	s.sampling.pass(usual) // as many threads as before
	if len(s.inside.processes) != 1 || s.inside.processes[b.Process.Pid] == nil {
		t.Errorf("a reading after the replacement has %v, and the process is %d", s.pids, b.Process.Pid)
	}
}
