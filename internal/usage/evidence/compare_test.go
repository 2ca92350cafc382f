package evidence

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tare/internal/usage"
)

var update = flag.Bool("update", false, "write the golden files again")

func known(pairs ...any) map[string]usage.Figure {
	m := map[string]usage.Figure{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = usage.Known(pairs[i+1].(float64))
	}
	return m
}

// compareTwo compares two trials.
func compareTwo(slow, fast Evidence, slowOps, fastOps float64) []Change {
	return Compare([]Counted{{slow, slowOps}}, []Counted{{fast, fastOps}})
}

// Native, and a container with a bridge, an overlay and a log in a pipe.
var (
	native = Evidence{Seconds: 10,
		Counts: known("syscalls", 5e5, "syscall.read", 2e5, "syscall.writev", 1e5, "syscall.epoll_wait", 2e5, "switch.voluntary", 1e4, "switch.involuntary", 500.0, "fault.minor", 100.0, "fault.major", 0.0, "softirq.NET_RX", 1e5, "host.softirq.NET_RX", 1.1e5),
		Times:  known("syscalls", 2.0, "syscall.read", 0.5, "syscall.writev", 1.2, "syscall.epoll_wait", 0.3, "wait.epoll_wait", 4.0, "softirq.NET_RX", 0.4, "host.softirq.NET_RX", 0.5, "user", 0.8, "kernel", 3.0, "kernel.network", 2.5, "kernel.entry", 0.5, "host.kernel", 3.5, "host.kernel.network", 3.5, "probe", 0.2),
	}
	docker = Evidence{Seconds: 10,
		Counts: known("syscalls", 4e5, "syscall.read", 1e5, "syscall.writev", 5e4, "syscall.write", 1e5, "syscall.epoll_wait", 1.5e5, "switch.voluntary", 6e4, "switch.involuntary", 300.0, "fault.minor", 50.0, "fault.major", 0.0, "softirq.NET_RX", 1e5, "host.softirq.NET_RX", 1.5e5),
		Times:  known("syscalls", 3.0, "syscall.read", 0.4, "syscall.writev", 1.1, "syscall.write", 1.3, "syscall.epoll_wait", 0.2, "softirq.NET_RX", 0.5, "host.softirq.NET_RX", 0.9, "user", 0.5, "kernel", 4.2, "kernel.network", 2.6, "kernel.entry", 0.4, "kernel.pipe", 0.6, "kernel.overlay", 0.3, "kernel.netfilter", 0.3, "host.kernel", 5.0, "host.kernel.network", 5.0, "probe", 0.2),
	}
)

func TestTheLargestChangesOfAnOperationComeFirst(t *testing.T) {
	changes := compareTwo(docker, native, 5e4, 1e5)
	first := map[Kind][]string{}
	for _, c := range changes {
		first[c.Kind] = append(first[c.Kind], c.Name)
	}
	if got := strings.Join(first[Called][:3], " "); got != "syscalls syscall.write syscall.writev" {
		t.Errorf("system calls are in the order %s", got)
	}
	if got := strings.Join(first[Where][:3], " "); got != "kernel user kernel.network" {
		t.Errorf("the places of the processors are in the order %s", got)
	}
	for _, c := range changes {
		if c.Name == "syscall.write" && (c.Fast.Count != usage.Known(0) || c.Slow.Count != usage.Known(2)) {
			t.Errorf("a call that one side never makes: %+v", c)
		}
		if c.Name == "kernel.overlay" && (c.Fast.Seconds != usage.Known(0) || c.Fast.Count.Missing == "") {
			t.Errorf("a place that one side never is in: %+v", c)
		}
	}
}

func TestAnUncountedValueIsNotZero(t *testing.T) {
	blind := Evidence{Counts: map[string]usage.Figure{"syscalls": usage.Absent("BPF is refused")}}
	for _, c := range compareTwo(docker, blind, 1, 1) {
		if f := c.Fast.Count; f.Missing == "" {
			t.Errorf("%s happened %v times on the side that counted nothing", c.Name, f.Value)
		}
		if c.Count().Missing == "" || c.Seconds().Missing == "" {
			t.Errorf("%s changed by a known amount", c.Name)
		}
	}
	if remarks := Remarks([]Counted{{blind, 1}}); len(remarks) != 1 || remarks[0] != "not counted: all system calls: BPF is refused" {
		t.Errorf("%q", remarks)
	}
}

func TestWithoutOperationsNothingIsCompared(t *testing.T) {
	for _, c := range compareTwo(docker, native, 0, 1e5) {
		if c.Slow.Count.Missing == "" || c.Slow.Seconds.Missing == "" {
			t.Fatalf("%s is %+v of an operation where none was counted", c.Name, c.Slow)
		}
	}
}

// A side against itself changes nothing, sides exchanged turn every change
// round, and the median of a trial given several times is the trial.
func TestComparisonsAreSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"syscall.read", "syscall.write", "syscalls", "switch.voluntary", "kernel", "kernel.overlay", "softirq.NET_RX"})
		value := rapid.Float64Range(0, 1e6)
		draw := func(label string) Evidence {
			return Evidence{
				Counts: rapid.MapOf(name, rapid.Map(value, usage.Known)).Draw(t, label+" counts"),
				Times:  rapid.MapOf(name, rapid.Map(value, usage.Known)).Draw(t, label+" times"),
			}
		}
		a, b := draw("a"), draw("b")
		for _, c := range compareTwo(a, a, 7, 7) {
			if c.Count().Value != 0 || c.Seconds().Value != 0 {
				t.Fatalf("%s changed against itself", c.Name)
			}
		}
		back := map[string]Change{}
		for _, c := range compareTwo(b, a, 5, 3) {
			back[c.Name] = c
		}
		thrice := Compare([]Counted{{a, 3}, {a, 3}, {a, 3}}, []Counted{{b, 5}, {b, 5}})
		for i, c := range compareTwo(a, b, 3, 5) {
			if other := back[c.Name]; c.Slow != other.Fast || c.Fast != other.Slow {
				t.Fatalf("%s is %+v one way and %+v the other", c.Name, c, other)
			}
			if d := thrice[i]; d.Name != c.Name || math.Abs(d.Slow.Count.Value-c.Slow.Count.Value) > 1e-9 || math.Abs(d.Fast.Seconds.Value-c.Fast.Seconds.Value) > 1e-9 {
				t.Fatalf("the median of the same is not the same: %+v, %+v", c, d)
			}
		}
	})
}

func TestTablesAreAsTheyWere(t *testing.T) {
	var text strings.Builder
	for _, s := range Table(compareTwo(docker, native, 5e4, 1e5), 6) {
		fmt.Fprintf(&text, "%s, and %d more\n", s.Title, s.Left)
		for _, r := range s.Rows {
			fmt.Fprintf(&text, "  %s\n", strings.Join([]string{r.What, r.Fast, r.Slow, r.FastTime, r.SlowTime, r.Change}, " | "))
		}
	}
	const file = "testdata/table.txt"
	if *update {
		if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if text.String() != string(want) {
		t.Errorf("%s:\n%s\nwant:\n%s", file, text.String(), want)
	}
}
