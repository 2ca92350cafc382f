package agent_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/testing/needs"
)

// lines collects output; it may be written and read at the same time.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func shell(script string) agent.Command { return agent.Command{Argv: []string{"sh", "-c", script}} }

func TestTheHelloDescribesTheAgent(t *testing.T) {
	a := start(t)
	h := a.Hello()
	if h.PID != a.process.Pid || h.CPUs < 1 || !strings.HasPrefix(h.Kernel, "Linux ") {
		t.Errorf("hello is %+v", h)
	}
	if h.AgentTime <= 0 || h.AgentTime > h.Uptime || h.Clock < h.AgentTime {
		t.Errorf("the times of hello do not fit each other: %+v", h)
	}
}

func TestACommandsEndIsReportedAsItWas(t *testing.T) {
	a := start(t)
	for script, want := range map[string]agent.Exit{
		"exit 0":                   {Code: 0},
		"exit 7":                   {Code: 7},
		"kill -TERM $$":            {Code: -1, Signal: "SIGTERM"},
		"kill -KILL $$":            {Code: -1, Signal: "SIGKILL"},
		"(exit 3) & wait $!; exit": {Code: 3},
	} {
		exit, err := a.Run(soon(t), shell(script))
		if err != nil || exit.Code != want.Code || exit.Signal != want.Signal || exit.TimedOut {
			t.Errorf("%q ended as %+v, %v", script, exit, err)
		}
		if exit.Elapsed() <= 0 || exit.MaxRSS <= 0 {
			t.Errorf("%q took %s and %d bytes", script, exit.Elapsed(), exit.MaxRSS)
		}
	}
}

func TestProcessorTimeIsCounted(t *testing.T) {
	exit, err := start(t).Run(soon(t), shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"))
	if err != nil || exit.User <= 0 || exit.User+exit.System > 2*exit.Elapsed() {
		t.Errorf("%+v, %v", exit, err)
	}
}

func TestOutputComesByteForByte(t *testing.T) {
	a := start(t)
	random := make([]byte, 3<<20+17)
	r := rand.NewChaCha8([32]byte{1})
	r.Read(random)
	for name, data := range map[string][]byte{
		"nothing": {}, "one byte": {0}, "every byte": func() (b []byte) {
			for i := range 256 {
				b = append(b, byte(i))
			}
			return
		}(), "three megabytes": random,
	} {
		var out, errs bytes.Buffer
		exit, err := a.Run(soon(t), agent.Command{
			Argv: []string{"sh", "-c", "tee /dev/stderr"}, Stdin: bytes.NewReader(data), Stdout: &out, Stderr: &errs})
		if err != nil || !exit.OK() {
			t.Fatalf("%s: %+v, %v, %s", name, exit, err, errs.String())
		}
		if !bytes.Equal(out.Bytes(), data) {
			t.Errorf("%s: standard output differs: %d bytes of %d", name, out.Len(), len(data))
		}
		if !bytes.Equal(errs.Bytes(), data) {
			t.Errorf("%s: standard error differs: %d bytes of %d", name, errs.Len(), len(data))
		}
	}
}

func TestOneReceiverForBothOutputsKeepsTheirOrder(t *testing.T) {
	var both bytes.Buffer
	cmd := shell("for i in 1 2 3; do echo out $i; echo err $i >&2; done")
	cmd.Stdout, cmd.Stderr = &both, &both
	if _, err := start(t).Run(soon(t), cmd); err != nil {
		t.Fatal(err)
	}
	if want := "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n"; both.String() != want {
		t.Errorf("got %q", both.String())
	}
}

func TestAHugeOutputArrivesWholeAndMemoryStaysSmall(t *testing.T) {
	a := start(t)
	const size = 300_000_000
	sum, want := sha256.New(), sha256.New()
	io.CopyN(want, zeroes{}, size)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak := uint64(0)
	n := int64(0)
	exit, err := a.Run(soon(t), agent.Command{
		Argv: []string{"head", "-c", fmt.Sprint(size), "/dev/zero"},
		Stdout: writer(func(b []byte) {
			sum.Write(b)
			if n += int64(len(b)); n%(1<<24) < int64(len(b)) {
				runtime.ReadMemStats(&after)
				peak = max(peak, after.HeapInuse)
			}
		}),
	})
	if err != nil || !exit.OK() || !bytes.Equal(sum.Sum(nil), want.Sum(nil)) {
		t.Fatalf("%+v, %v: %d bytes", exit, err, n)
	}
	if grown := int64(peak) - int64(before.HeapInuse); grown > 32<<20 {
		t.Errorf("the host's side grew by %d bytes", grown)
	}
	if rss := resident(t, a.process.Pid); rss > small() {
		t.Errorf("the agent is %d bytes resident after it", rss)
	}
}

func TestASlowReceiverHoldsUpOnlyItsOwnCommand(t *testing.T) {
	a := start(t)
	hold, arrived := make(chan struct{}), make(chan struct{})
	var once sync.Once
	total := 0
	p, err := a.Start(soon(t), agent.Command{
		Argv: []string{"head", "-c", "5000000", "/dev/zero"},
		Stdout: writer(func(b []byte) {
			once.Do(func() { close(arrived) })
			<-hold
			total += len(b)
		}),
	})
	if err != nil {
		t.Fatal(err)
	}
	<-arrived
	if exit, err := a.Run(soon(t), shell("exit 5")); err != nil || exit.Code != 5 {
		t.Errorf("another command beside it: %+v, %v", exit, err)
	}
	close(hold)
	if exit, err := p.Wait(soon(t)); err != nil || !exit.OK() || total != 5000000 {
		t.Errorf("%+v, %v, %d bytes", exit, err, total)
	}
}

func TestOutputIsCompleteForASlowReceiverWhileADaemonHoldsThePipe(t *testing.T) {
	a := start(t)
	hold, arrived := make(chan struct{}), make(chan struct{})
	var once sync.Once
	total := 0
	// 300000 bytes are more than the window and less than window and pipe.
	cmd := shell("sleep 1000 & head -c 300000 /dev/zero")
	cmd.Stdout = writer(func(b []byte) {
		once.Do(func() { close(arrived) })
		<-hold
		total += len(b)
	})
	p, err := a.Start(soon(t), cmd)
	if err != nil {
		t.Fatal(err)
	}
	<-arrived
	gone(t, strconv.Itoa(p.PID()))
	close(hold)
	if exit, err := p.Wait(soon(t)); err != nil || !exit.OK() || total != 300000 {
		t.Errorf("%+v, %v: %d bytes of 300000", exit, err, total)
	}
}

func TestADaemonThatHoldsTheOutputDoesNotHoldTheWait(t *testing.T) {
	var out bytes.Buffer
	cmd := shell("sleep 1000 & echo started")
	cmd.Stdout = &out
	exit, err := start(t).Run(soon(t), cmd)
	if err != nil || !exit.OK() || out.String() != "started\n" {
		t.Errorf("%+v, %v, %q", exit, err, out.String())
	}
}

func TestAReceiversErrorIsReturnedAndTheCommandStillEnds(t *testing.T) {
	full := errors.New("the disk is full")
	exit, err := start(t).Run(soon(t), agent.Command{
		Argv: []string{"head", "-c", "3000000", "/dev/zero"}, Stdout: failing{full}})
	if !errors.Is(err, full) || !exit.OK() {
		t.Errorf("%+v, %v", exit, err)
	}
}

func TestInputThatIsNotReadIsNoError(t *testing.T) {
	exit, err := start(t).Run(soon(t), agent.Command{Argv: []string{"true"}, Stdin: bytes.NewReader(make([]byte, 10<<20))})
	if err != nil || !exit.OK() {
		t.Errorf("%+v, %v", exit, err)
	}
}

func TestTheEnvironmentTheDirectoryAndTheCgroupAreThoseRequested(t *testing.T) {
	t.Setenv("OF_THE_IMAGE", "kept")
	t.Setenv("REPLACED", "old")
	var out bytes.Buffer
	cmd := shell(`echo $OF_THE_IMAGE $REPLACED $PWD; cut -d' ' -f1,5,6 /proc/$$/stat; echo $$`)
	cmd.Env, cmd.Dir, cmd.Stdout = []string{"REPLACED=new"}, "/usr", &out
	a := start(t)
	p, err := a.Start(soon(t), cmd)
	if err != nil {
		t.Fatal(err)
	}
	if exit, err := p.Wait(soon(t)); err != nil || !exit.OK() {
		t.Fatal(exit, err)
	}
	want := fmt.Sprintf("kept new /usr\n%[1]d %[1]d %[1]d\n%[1]d\n", p.PID())
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestACommandRunsOnTheCoresItWasGivenAndTheAgentKeepsItsOwn(t *testing.T) {
	a := start(t)
	allowed := func(cmd agent.Command) string {
		var out bytes.Buffer
		cmd.Argv, cmd.Stdout = []string{"grep", "Cpus_allowed_list", "/proc/self/status"}, &out
		if exit, err := a.Run(soon(t), cmd); err != nil || !exit.OK() {
			t.Fatal(exit, err)
		}
		return strings.TrimSpace(strings.TrimPrefix(out.String(), "Cpus_allowed_list:"))
	}
	all := allowed(agent.Command{})
	for range 20 {
		if got := allowed(agent.Command{CPUs: []int{0}}); got != "0" {
			t.Fatalf("bound to core 0 it may use %s", got)
		}
		if got := allowed(agent.Command{}); got != all {
			t.Fatalf("a later command may use %s, not %s", got, all)
		}
	}
	_, err := a.Run(soon(t), agent.Command{Argv: []string{"true"}, CPUs: []int{0, 1000}})
	if err == nil || !strings.Contains(err.Error(), "true") || !strings.Contains(err.Error(), "1000") {
		t.Errorf("a core that is not there: %v", err)
	}
}

func TestACommandRunsAsTheUserItWasGiven(t *testing.T) {
	needs.Root(t)
	a := start(t)
	for user, want := range map[string]string{"": "0:0", "nobody": "65534:65534", "1234": "1234:0", "1234:55": "1234:55", "65534:7": "65534:7"} {
		var out bytes.Buffer
		cmd := shell("echo $(id -u):$(id -g)")
		cmd.User, cmd.Stdout = user, &out
		exit, err := a.Run(soon(t), cmd)
		if err != nil || !exit.OK() || strings.TrimSpace(out.String()) != want {
			t.Errorf("user %q ran as %q: %+v, %v", user, out.String(), exit, err)
		}
	}
}

func TestACommandThatCannotStartIsNamed(t *testing.T) {
	a := start(t)
	script := t.TempDir() + "/script"
	os.WriteFile(script, []byte("#!/no/such/interpreter\n"), 0o755)
	for _, c := range []struct {
		cmd   agent.Command
		words []string
		is    error
	}{
		{agent.Command{Argv: []string{"no-such-command"}}, []string{"no-such-command", "PATH"}, fs.ErrNotExist},
		{agent.Command{Argv: []string{"/no/such/file"}}, []string{"/no/such/file"}, fs.ErrNotExist},
		{agent.Command{Argv: []string{"/etc/passwd"}}, []string{"/etc/passwd", "permission"}, fs.ErrPermission},
		{agent.Command{Argv: []string{script}}, []string{script, "interpreter"}, fs.ErrNotExist},
		{agent.Command{Argv: []string{"true"}, Dir: "/nowhere"}, []string{"true", "/nowhere"}, fs.ErrNotExist},
		{agent.Command{Argv: []string{"true"}, User: "nemo"}, []string{"true", "nemo", "/etc/passwd"}, fs.ErrNotExist},
		{agent.Command{}, []string{"empty"}, nil},
	} {
		_, err := a.Run(soon(t), c.cmd)
		if err == nil {
			t.Errorf("%v: started", c.cmd)
			continue
		}
		for _, w := range c.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%v: %v does not say %q", c.cmd.Argv, err, w)
			}
		}
		if c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%v: %v is not %v", c.cmd.Argv, err, c.is)
		}
	}
}

func TestASignalReachesTheWholeGroup(t *testing.T) {
	a := start(t)
	var out lines
	cmd := shell("sleep 1000 & echo $!; wait")
	seen := make(chan struct{})
	cmd.Stdout = writer(func(b []byte) { out.Write(b); close(seen) })
	p, err := a.Start(soon(t), cmd)
	if err != nil {
		t.Fatal(err)
	}
	<-seen
	if err := p.Signal(soon(t), syscall.SIGUSR1); err != nil {
		t.Fatal(err)
	}
	exit, err := p.Wait(soon(t))
	if err != nil || exit.Signal != "SIGUSR1" || exit.Code != -1 {
		t.Errorf("%+v, %v", exit, err)
	}
	gone(t, strings.TrimSpace(out.String()))
	if err := p.Signal(soon(t), syscall.SIGTERM); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("a signal after the end: %v", err)
	}
}

func TestATimeoutKillsTheWholeGroup(t *testing.T) {
	var out bytes.Buffer
	cmd := shell("sleep 1000 & echo $!; sleep 1000")
	cmd.Stdout, cmd.Timeout = &out, 50*time.Millisecond
	exit, err := start(t).Run(soon(t), cmd)
	if err != nil || !exit.TimedOut || exit.Signal != "SIGKILL" || exit.OK() {
		t.Errorf("%+v, %v", exit, err)
	}
	gone(t, strings.TrimSpace(out.String()))
}

func TestRunKillsItsCommandWhenItsContextEnds(t *testing.T) {
	a := start(t)
	ctx, cancel := context.WithCancelCause(soon(t))
	why := errors.New("the user pressed Ctrl-C")
	var out lines
	cmd := shell("echo $$; sleep 1000")
	cmd.Stdout = writer(func(b []byte) { out.Write(b); cancel(why) })
	exit, err := a.Run(ctx, cmd)
	if !errors.Is(err, why) || exit.Signal != "SIGKILL" {
		t.Errorf("%+v, %v", exit, err)
	}
	gone(t, strings.TrimSpace(out.String()))
}

func TestParallelCommandsKeepTheirOwnOutput(t *testing.T) {
	a := start(t)
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			var out bytes.Buffer
			cmd := shell(fmt.Sprintf("(sleep 0.01 &) ; echo %d; exit %d", i, i))
			cmd.Stdout = &out
			exit, err := a.Run(soon(t), cmd)
			if err != nil || exit.Code != i || out.String() != fmt.Sprintln(i) {
				t.Errorf("%d: %+v, %v, %q", i, exit, err, out.String())
			}
		})
	}
	all.Wait()
}

func TestAFileOfTheInstanceIsTheStandardInput(t *testing.T) {
	a, path := start(t), filepath.Join(t.TempDir(), "input")
	if err := os.WriteFile(path, []byte("some text"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 { // each command reads it from its beginning
		var out bytes.Buffer
		cmd := shell("cat; test -f /dev/stdin")
		cmd.Input, cmd.Stdout = path, &out
		if exit, err := a.Run(soon(t), cmd); err != nil || !exit.OK() || out.String() != "some text" {
			t.Errorf("%+v, %v: %q", exit, err, out.String())
		}
	}
	for wrong, want := range map[string]string{path + "x": "no such file", filepath.Dir(path): "is not a regular file", "/dev/null": "is not a regular file"} {
		cmd := shell("cat")
		cmd.Input = wrong
		if _, err := a.Run(soon(t), cmd); err == nil || !strings.Contains(err.Error(), "opening its standard input: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
