package instances

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/study"
	"tare/internal/testing/fakeenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// newPool has the environments a and b in one log; a has networks.
func newPool(t *testing.T, c Config) (*Pool, *fakeenv.Log, *fakeenv.Environment) {
	t.Helper()
	log := &fakeenv.Log{}
	a := &fakeenv.Environment{Log: log, Networks: true}
	c.Images = map[string]*image.Image{"": {}}
	c.Plan = &study.Plan{Environments: []study.Environment{{Name: "a"}, {Name: "b"}}}
	c.Environments = map[string]environment.Environment{"a": a, "b": &fakeenv.Environment{Log: log}}
	p := NewPool(c)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p, log, a
}

func request(block int, environment, fresh string) Request {
	return Request{Block: block, Environment: environment, Fresh: fresh, Shape: study.Shape{Copies: 1, Together: true}}
}

func get(t *testing.T, p *Pool, r Request) *Group {
	t.Helper()
	g, err := p.Get(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestInstancesLiveAsLongAsTheirTrialsWant(t *testing.T) {
	wider := request(1, "a", "block")
	wider.Shape.Joined = true
	for name, c := range map[string]struct {
		requests []Request
		log      string
	}{
		"a trial":  {[]Request{request(1, "a", "trial"), request(1, "a", "trial")}, "start b1-a-1, stop b1-a-1, start b1-a-2"},
		"a block":  {[]Request{request(1, "a", "block"), request(1, "a", "block"), request(2, "a", "block")}, "start b1-a-1, stop b1-a-1, start b2-a-2"},
		"the run":  {[]Request{request(1, "a", "run"), request(1, "b", "block"), request(2, "a", "run")}, "start b1-a-1, start b1-b-2, stop b1-b-2"},
		"no other": {[]Request{request(1, "a", "block"), request(1, "b", "block"), request(1, "a", "block")}, "start b1-a-1, stop b1-a-1, start b1-b-2, stop b1-b-2, start b1-a-3"},
		"a shape":  {[]Request{request(1, "a", "block"), wider}, "start b1-a-1, stop b1-a-1, network b1-a-2, start b1-a-3"},
	} {
		t.Run(name, func(t *testing.T) {
			p, log, _ := newPool(t, Config{})
			for _, r := range c.requests {
				if err := p.StopOthers(r); err != nil {
					t.Fatal(err)
				}
				get(t, p, r)
			}
			if got := strings.Join(log.Lines(), ", "); got != c.log {
				t.Errorf("got  %s\nwant %s", got, c.log)
			}
		})
	}
}

func TestSeveralGroupsCanLiveAtOnce(t *testing.T) {
	p, log, _ := newPool(t, Config{})
	both := []Request{request(1, "a", "block"), request(1, "b", "block")}
	first := get(t, p, both[0])
	for range 2 {
		for _, r := range both {
			if err := p.StopOthers(both...); err != nil {
				t.Fatal(err)
			}
			get(t, p, r)
		}
	}
	if get(t, p, both[0]) != first {
		t.Error("the first group was replaced")
	}
	if got := strings.Join(log.Lines(), ", "); got != "start b1-a-1, start b1-b-2" {
		t.Error(got)
	}
}

func TestAStartThatFailedIsNotTriedAgainInItsBlock(t *testing.T) {
	p, _, a := newPool(t, Config{})
	tries := 0
	a.Fails = func(string) error {
		tries++
		return errors.New("broken")
	}
	for _, c := range []struct {
		request Request
		tries   int
	}{{request(1, "a", "block"), 1}, {request(1, "a", "block"), 1}, {request(1, "a", "trial"), 2}} {
		if _, err := p.Get(t.Context(), c.request); err == nil || err.Error() != "start of a: broken" || tries != c.tries {
			t.Errorf("%d tries, want %d: %v", tries, c.tries, err)
		}
	}
	p.NextBlock()
	if p.Get(t.Context(), request(2, "a", "block")); tries != 3 {
		t.Errorf("%d tries after the block", tries)
	}
}

func TestALostInstanceIsReplaced(t *testing.T) {
	p, log, _ := newPool(t, Config{})
	g := get(t, p, request(1, "a", "block"))
	g.Instances()[0].Agent().Close()
	if !g.Lost() {
		t.Fatal("it is not lost")
	}
	if again := get(t, p, request(1, "a", "block")); again == g || again.Lost() {
		t.Error("it was not replaced")
	}
	if got := strings.Join(log.Lines(), ", "); got != "start b1-a-1, stop b1-a-1, start b1-a-2" {
		t.Error(got)
	}
}

func TestTheFirstTrialTakesTheFactsOfTheStart(t *testing.T) {
	p, _, a := newPool(t, Config{})
	a.Notes = []string{"an option was ignored"}
	a.Phases = []environment.Phase{{Name: environment.PreparePhase, Duration: time.Hour}, {Name: "agent", Duration: time.Second}}
	r := request(1, "a", "block")
	r.Shape.Copies, r.Shape.Joined = 2, true
	g := get(t, p, r)
	facts, first := g.TakeFacts()
	if !first || !slices.Equal(facts.Notes, a.Notes) || facts.Phases != nil {
		t.Errorf("first %t: %+v", first, facts)
	}
	if again, first := g.TakeFacts(); first || again.Notes != nil {
		t.Errorf("the second trial has %+v, first %t", again, first)
	}
	if len(g.Starts) != 2 || g.Starts[1].Took != time.Second || g.Starts[1].Ready.IsZero() {
		t.Errorf("the starts are %+v", g.Starts)
	}
	if facts, _ := get(t, p, request(1, "a", "trial")).TakeFacts(); len(facts.Phases) != 2 {
		t.Errorf("the phases of a single instance are %v", facts.Phases)
	}
}

// closed says whether a console was closed.
type closed struct {
	io.Writer
	count *int
}

func (c closed) Close() error {
	*c.count++
	return nil
}

func TestEveryConsoleIsClosedAndAFullDiskEndsTheRun(t *testing.T) {
	opened, shut := 0, 0
	p, log, a := newPool(t, Config{Console: func(name string) (io.WriteCloser, error) {
		if opened++; opened == 3 {
			return nil, errors.New("no space left")
		}
		return closed{io.Discard, &shut}, nil
	}})
	get(t, p, request(1, "a", "trial"))
	a.Fails = func(string) error { return errors.New("broken") }
	p.Get(t.Context(), request(1, "a", "trial"))
	if opened != 2 || shut != 2 {
		t.Errorf("%d opened, %d closed", opened, shut)
	}
	_, err := p.Get(t.Context(), request(1, "a", "trial"))
	var full *DiskError
	if !errors.As(err, &full) || err.Error() != "start of a: no space left" {
		t.Errorf("got %v", err)
	}
	if got := strings.Join(log.Lines(), ", "); got != "start b1-a-1, stop b1-a-1" {
		t.Error(got)
	}
}

func TestARoleThatTheEnvironmentCannotProvideIsUnsupported(t *testing.T) {
	p, _, a := newPool(t, Config{})
	a.Fails = func(string) error { return environment.ErrOneAddress }
	apart := study.Shape{Copies: 1, Joined: true, Roles: []study.RoleShape{{Name: "server", Count: 1}}}
	for name, reason := range map[string]string{"a": "one address", "b": "no network between them"} {
		r := request(1, name, "trial")
		r.Shape = apart
		_, err := p.Get(t.Context(), r)
		var limit *Unsupported
		if !errors.As(err, &limit) || !strings.Contains(limit.Reason, reason) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTooFewProcessesAreNamedAsAPossibleCause(t *testing.T) {
	limits := environment.Limits{PIDs: 7}
	err := startError(t.Context(), errors.New("broken"), limits)
	if !strings.HasPrefix(err.Error(), "broken; limits: pids: 7 can be too few") {
		t.Error(err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{
		"after an interrupt":  startError(ended, errors.New("broken"), limits),
		"without the limit":   startError(t.Context(), errors.New("broken"), environment.Limits{Memory: quantity.MiB}),
		"with another reason": startError(t.Context(), environment.ErrMemoryIO, limits),
	} {
		if strings.Contains(err.Error(), "pids") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
