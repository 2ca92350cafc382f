package progress

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/base/term"
	"tare/internal/run"
	"tare/internal/run/schedule"
	"tare/internal/rundir"
	"tare/internal/stats"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
)

func soFar(workload, environment string, n, rounds int, estimate, half float64) verdict.SoFar {
	s := verdict.SoFar{Rounds: rounds, Contrast: verdict.Contrast{
		Workload: workload, Metric: "time", Environment: environment, Baseline: "native", N: n, Open: true, Margin: .02,
		Estimate: estimate, Low: estimate - half, High: estimate + half, Verdict: verdict.Inconclusive,
	}}
	if s.IntervalN, s.Alpha = n, .01; half == 0 {
		s.IntervalN, s.Low, s.High = 0, math.Inf(-1), math.Inf(1)
		return s
	}
	v := stats.Interval{Estimate: estimate, Low: s.Low, High: s.High}
	s.Projection = stats.BlocksNeeded(n, v, s.Alpha, v.Aim(math.Log1p(s.Margin), .25))
	return s
}

func decided(s verdict.SoFar, v verdict.Verdict) verdict.SoFar {
	s.Open, s.Verdict = false, v
	return s
}

// several are contrasts in every state.
func several() []verdict.SoFar {
	vm := soFar("redis", "vm", 8, 0, 3, .1)
	vm.Label = "tcg"
	wide := soFar("nginx", "docker", 8, 0, .002, .4)
	connections := soFar("nginx", "gvisor", 0, 1, .8, 0)
	connections.Level, connections.Metric = "connections=1000", "latency_p99"
	return []verdict.SoFar{
		decided(soFar("redis", "docker", 8, 0, .08, .03), verdict.Slower),
		decided(vm, verdict.Slower), wide, soFar("nginx", "gvisor", 8, 0, .6, .7), connections,
		decided(soFar("syscalls", "docker", 8, 0, .001, .015), verdict.Equivalent),
		soFar("syscalls", "gvisor", 3, 0, 2.5, 0), soFar("sysbench-cpu", "gvisor", 8, 0, .3, .02),
		decided(soFar("sysbench-cpu", "docker", 60, 0, .01, .02), verdict.Inconclusive),
		soFar("fio", "docker", 0, 5, -.01, 0), soFar("fio", "gvisor", 0, 5, .05, 0), soFar("fio", "vm", 0, 0, math.NaN(), 0),
	}
}

func many(n int) (all []verdict.SoFar) {
	for i := range n {
		all = append(all, soFar(fmt.Sprintf("workload-with-a-long-name-%d", i), "docker+network=host+log=json-file", 8, 0, .01*float64(i), .02*float64(i+1)))
	}
	return all
}

func TestTheTableOfEstimatesFitsTheTerminal(t *testing.T) {
	for name, c := range map[string]struct {
		all            []verdict.SoFar
		columns, lines int
	}{
		"several-80x24": {several(), 79, 22},
		"many-80x24":    {append(many(30), soFar("last", "docker", 0, 0, math.NaN(), 0)), 79, 22},
		"several-50x6":  {several(), 49, 4},
	} {
		t.Run(name, func(t *testing.T) {
			drawn := table(c.all, c.columns, c.lines)
			for _, line := range drawn {
				if n := ansi.StringWidth(line); n > c.columns {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			if len(drawn) > c.lines {
				t.Errorf("%d lines, not %d", len(drawn), c.lines)
			}
			reporttest.Golden(t, name+".txt", []byte(strings.Join(drawn, "\n")+"\n"))
		})
	}
	for columns := range 120 {
		for lines := range 14 {
			drawn := table(several(), columns, lines)
			if len(drawn) > lines {
				t.Fatalf("%d lines instead of %d", len(drawn), lines)
			}
			for _, line := range drawn {
				if ansi.StringWidth(line) > columns {
					t.Fatalf("%d columns: %q", columns, line)
				}
			}
		}
	}
	if got := table([]verdict.SoFar{soFar("fio", "vm", 0, 0, math.NaN(), 0)}, 79, 22); got != nil {
		t.Errorf("without an estimate: %q", got)
	}
}

// screen understands the sequences that Live writes.
type screen struct {
	columns, x, y int
	cells         [][]rune
}

func (s *screen) Write(p []byte) (int, error) {
	text := []rune(string(p))
	for i := 0; i < len(text); i++ {
		s.grow()
		switch r := text[i]; r {
		case '\r':
			s.x = 0
		case '\n':
			s.x, s.y = 0, s.y+1
		case '\x1b':
			n := 0
			for i += 2; text[i] >= '0' && text[i] <= '9'; i++ {
				n = 10*n + int(text[i]-'0')
			}
			switch text[i] {
			case 'A':
				s.y -= max(1, n)
			case 'J':
				s.cells = s.cells[:s.y+1]
				fallthrough
			case 'K':
				s.cells[s.y] = s.cells[s.y][:min(s.x, len(s.cells[s.y]))]
			default:
				panic(fmt.Sprintf("CSI %c", text[i]))
			}
		default:
			if s.x == s.columns {
				s.x, s.y = 0, s.y+1
				s.grow()
			}
			for len(s.cells[s.y]) <= s.x {
				s.cells[s.y] = append(s.cells[s.y], ' ')
			}
			s.cells[s.y][s.x] = r
			s.x++
		}
	}
	return len(p), nil
}

func (s *screen) grow() {
	for len(s.cells) <= s.y {
		s.cells = append(s.cells, nil)
	}
}

func (s *screen) String() string {
	var lines []string
	for _, line := range s.cells {
		lines = append(lines, strings.TrimRight(string(line), " "))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func TestTheTableIsRedrawnInPlaceAboveTheLine(t *testing.T) {
	s := &screen{columns: 80}
	l := &Live{out: term.NewWriter(s), size: func() (int, int) { return s.columns, 24 }}
	slot := &schedule.Slot{Block: 1, Workload: "redis", Environment: "docker"}
	trying := run.Event{Kind: run.Trying, Slot: slot, Progress: schedule.Progress{MaxBlock: 60}}
	one := []verdict.SoFar{soFar("redis", "docker", 0, 1, .08, 0)}
	l.Event(trying)
	if got := s.String(); got != "block 1/60 · redis in docker" {
		t.Error(got)
	}
	l.Event(run.Event{Kind: run.Estimates, Slot: slot, Estimates: several()})
	l.Event(run.Event{Kind: run.Estimates, Slot: slot, Estimates: one})
	slot.Block = 2
	l.Event(trying)
	reporttest.Golden(t, "redrawn.txt", []byte(s.String()+"\n"))
	before := s.String()
	l.Event(run.Event{Kind: run.Verdict, Contrast: &one[0].Contrast, Message: "it is slower"})
	if got := s.String(); got != "verdict: redis time: it is slower\n"+before {
		t.Error(got)
	}
	l.Event(run.Event{Kind: run.Estimates, Slot: slot, Estimates: several()})
	l.Close()
	if got := s.String(); got != "verdict: redis time: it is slower" {
		t.Error(got)
	}
}

// A terminal that was made narrower has wrapped what is on it.
func TestNoWrappedLineIsLeft(t *testing.T) {
	s := &screen{columns: 40}
	l := &Live{out: term.NewWriter(s), size: func() (int, int) { return 80, 24 }}
	l.Event(run.Event{Kind: run.Preparing, Message: "image"})
	l.Event(run.Event{Kind: run.Estimates, Estimates: several()})
	l.size = func() (int, int) { return 40, 24 }
	l.Close()
	if got := s.String(); got != "" {
		t.Error(got)
	}
}

func TestALogHasEstimatesNowAndThen(t *testing.T) {
	var out strings.Builder
	now := time.Unix(1e9, 0)
	p := &plain{out: &out, now: func() time.Time { return now }}
	for _, wait := range []time.Duration{0, time.Second, 8 * time.Second, time.Second} {
		now = now.Add(wait)
		p.Event(run.Event{Kind: run.Estimates, Slot: &schedule.Slot{Workload: "nginx"}, Estimates: several()})
		p.Event(run.Event{Kind: run.Estimates, Slot: &schedule.Slot{Workload: "other"}, Estimates: several()})
	}
	want := "so far, not final: nginx time in docker +0.2% ([-32.8%, +49.5%]); nginx time in gvisor +82.2% ([-9.5%, +266.9%])\n"
	if got := out.String(); got != want+want {
		t.Error(got)
	}
}

// Several nodes make trials at the same time: the line names all, whichever began last.
func TestTheLineNamesTheBlocksOfAllNodes(t *testing.T) {
	s := &screen{columns: 80}
	l := &Live{out: term.NewWriter(s), size: func() (int, int) { return s.columns, 24 }}
	event := func(kind run.Kind, node string, block int) string {
		l.Event(run.Event{Kind: kind, Trial: &rundir.Trial{}, Slot: &schedule.Slot{Block: block, Node: node, Workload: "redis", Environment: "docker"},
			Progress: schedule.Progress{MaxBlock: 60, Open: 2, NextLook: 8, Remaining: 90 * time.Second}})
		return s.String()
	}
	for _, c := range []struct {
		kind  run.Kind
		node  string
		block int
		want  string
	}{
		{run.Trying, "h1", 3, "block 3/60 on h1 · analysis at 8 · redis in docker"},
		{run.Trying, "h2", 4, "blocks 3 on h1, 4 on h2 · analysis at 8"},
		{run.Trying, "a-node-with-a-long-name.example", 5, "blocks 3 to 5 on 3 nodes · analysis at 8"},
		{run.Tried, "a-node-with-a-long-name.example", 5, "blocks 3 on h1, 4 on h2 · analysis at 8"},
		{run.Tried, "h1", 3, "block 4 on h2 · analysis at 8"},
	} {
		if got := event(c.kind, c.node, c.block); got != c.want {
			t.Errorf("%s, not %s", got, c.want)
		}
	}
}
