package conformance

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/linux/cgroup"
	"tare/internal/testing/testenv"
	"tare/internal/usage"
)

// limited asks for limits that each can be seen to hold.
func limited(r *environment.Request) {
	r.Limits = environment.Limits{CPUs: 0.5, Memory: 192 * quantity.MiB, PIDs: 400, Cores: []int{0}}
}

// limited leaves the cores to the machine that the environment is inside, and to a pod
// what it cannot ask for.
func (s *scene) limited() func(*environment.Request) {
	return func(r *environment.Request) {
		limited(r)
		if s.nested() || s.kind == "kubernetes" {
			r.Limits.Cores = nil
		}
		if s.pod() || s.kata() {
			r.Limits.PIDs = 0
		}
	}
}

// kata says that an instance is in a guest of Kata Containers, started by an engine.
func (s *scene) kata() bool { return strings.HasSuffix(s.name, " kata") }

// pod says that an instance is a pod, and no VM of a cluster.
func (s *scene) pod() bool { return s.kind == "kubernetes" && !strings.Contains(s.name, "kubevirt") }

// limitsTakeHold: they are seen to hold, and they do when they are tried.
func limitsTakeHold(t *testing.T, s *scene) {
	limited := s.limited()
	i := s.start(t, "limited", limited)
	s.limitsAreSeen(t, i, limited)
	notes := strings.Join(i.Notes(), "\n")
	t.Log("notes: ", notes)
	noted := func(word string) bool { return strings.Contains(notes, word) }

	if n := run(t, i, "nproc"); n != "1" && !noted("sees") && s.kind != "kubernetes" {
		t.Errorf("the instance has %s cores, and no note says so", n)
	}
	for _, pid := range testenv.PIDs(t, testenv.Cgroups(i)...) {
		if cores := allowed(pid); len(cores) > 0 && !slices.Equal(cores, []int{0}) && !s.nested() && s.kind != "kubernetes" {
			t.Errorf("process %d may run on the cores %v", pid, cores)
		}
	}
	sampler, began := environment.Meter(i, usage.Options{}), time.Now()
	exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"/bin/sh", "-c", "while :; do :; done"}, Timeout: time.Second})
	used, elapsed := sampler.Stop().CPU(), time.Since(began).Seconds()
	if err != nil || !exit.TimedOut {
		t.Fatalf("%+v, %v", exit, err)
	}
	if used.Missing != "" || used.Value > 0.75*elapsed && !noted("no limit on the host") {
		t.Errorf("half a processor was given, and %+v s were taken in %.2f s", used, elapsed)
	}
	s.memoryIsLimited(t, i)
}

// limitsAreSeen asks what a trial asks.
func (s *scene) limitsAreSeen(t *testing.T, i environment.Instance, ask func(*environment.Request)) {
	t.Helper()
	var r environment.Request
	ask(&r)
	began := time.Now()
	sights, err := environment.CheckLimits(t.Context(), i, r.Limits)
	if err != nil {
		t.Error(err)
	}
	t.Logf("looked at in %v", time.Since(began).Round(time.Millisecond))
	for _, s := range sights {
		t.Log(s)
	}
}

// memoryIsLimited takes more than was given: the command dies of it, or the
// instance with it.
func (s *scene) memoryIsLimited(t *testing.T, i environment.Instance) {
	given := int64(192 * quantity.MiB)
	if s.emulated() && !s.nested() { // where it would take minutes, and the size of the machine says it
		if total := run(t, i, "sed -n 's/^MemTotal: *//p' /proc/meminfo"); atoi(strings.Fields(total)[0])*1024 > given {
			t.Errorf("the guest has %s", total)
		}
		return
	}
	exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"/bin/sh", "-c", "dd if=/dev/zero of=/data/all bs=300M count=1"}})
	if err == nil && exit.OK() {
		t.Error("300 MiB fit into 192 MiB")
	}
}

// noMoreProcessesThanAsked starts more than were allowed: the next one is
// refused, or the instance dies of it. Where the limit cannot hold, the start is refused.
func noMoreProcessesThanAsked(t *testing.T, s *scene) {
	few := func(r *environment.Request) { r.Limits = environment.Limits{PIDs: 120} }
	if s.pod() || s.kata() {
		r := s.request("few")
		few(&r)
		if _, err := s.env.Start(t.Context(), r); err == nil || !strings.Contains(err.Error(), "limits: pids: ") {
			t.Errorf("a limit that it cannot have: %v", err)
		}
		return
	}
	i := s.start(t, "few", few)
	s.limitsAreSeen(t, i, few)
	// Perl alone: emulated, a program that is started anew takes many times a fork.
	exit, err := i.Agent().Run(t.Context(), agent.Command{
		Argv: []string{"perl", "-e", `for (1..150) { my $pid = fork; exit 1 unless defined $pid; if (!$pid) { sleep 1000; exit } }`}, Timeout: 30 * time.Second})
	switch {
	case err != nil && !errors.Is(err, agent.ErrGone):
		t.Fatal(err)
	case err == nil && exit.OK():
		t.Error("150 processes were started where 120 are allowed")
	case err == nil:
		t.Logf("exit status %d", exit.Code)
	default:
		t.Log(err)
	}
}

// theDiskIsThrottled: what takes a second at the rate that was asked for takes
// no less, however fast the machine is. Where the limit cannot hold, the start is
// refused.
func theDiskIsThrottled(t *testing.T, s *scene) {
	slow := func(r *environment.Request) {
		r.Limits = environment.Limits{IO: environment.IO{Read: 8 * quantity.MiB, Write: 2 * quantity.MiB, ReadOps: 5000, WriteOps: 5000}}
	}
	r := s.request("slow")
	slow(&r)
	i, err := s.env.Start(t.Context(), r)
	if err != nil && strings.Contains(err.Error(), "limits: io: ") {
		t.Logf("refused: %v", err)
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { i.Stop(context.Background()) })
	s.limitsAreSeen(t, i, slow)
	began := time.Now()
	// 4 MiB. With one fsync at the end, somebody else's sync can make the kernel write
	// the pages, and cgroup v1 does not count that as the writer's.
	run(t, i, "dd if=/dev/zero of=/data/slow bs=64k count=64 oflag=sync 2>/dev/null")
	took := time.Since(began)
	t.Logf("4 MiB at 2 MiB a second took %v", took.Round(time.Millisecond))
	if took < time.Second {
		t.Errorf("it took only %v", took)
	}
}

// aLimitThatDoesNotHoldIsFound asks of the shared instance what it was never given, as
// if its environment had ignored the limits.
func aLimitThatDoesNotHoldIsFound(t *testing.T, s *scene) {
	i := s.shared
	var r environment.Request
	s.limited()(&r)
	r.Limits.IO = environment.IO{Write: quantity.MiB}
	_, err := environment.CheckLimits(t.Context(), i, r.Limits)
	var notHeld *environment.LimitsError
	if !errors.As(err, &notHeld) {
		t.Fatalf("no limit was given, and the check says %v", err)
	}
	t.Log(err)
	words := []string{"cpus: 0.5 CPUs requested, but ", "memory: 192MiB requested, but ", "io: 1MiB written per second requested, but "}
	if r.Limits.PIDs > 0 {
		words = append(words, "pids: 400 requested, but ")
	}
	if len(r.Limits.Cores) > 0 && atoi(strings.TrimSpace(run(t, i, "nproc"))) > 1 { // of one core all have that one
		words = append(words, "cores: 0 requested, but ")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is missing in: %v", word, err)
		}
	}
	if sights, err := environment.CheckLimits(t.Context(), i, environment.Limits{}); err != nil || len(sights) > 0 {
		t.Errorf("nothing was asked, and %v, %v was found", sights, err)
	}
}

func atoi(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// allowed are the cores that a process may run on; none when it has ended.
func allowed(pid int) []int {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	for line := range strings.Lines(string(status)) {
		if cores, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			return cgroup.ParseCores(strings.TrimSpace(cores))
		}
	}
	return nil
}
