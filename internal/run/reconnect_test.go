package run

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/study"
	"tare/internal/testing/localhost"
	"tare/internal/testing/sshhost"
	"tare/internal/testing/testenv"
)

func TestMain(m *testing.M) {
	localhost.ServeIfAsked()
	goleak.VerifyTestMain(m)
}

// withFar is an execution of a plan with one other machine, "far".
func withFar(t *testing.T, m *sshhost.Machine) (e *execution, output *[]string) {
	t.Helper()
	testenv.NeedsAgent(t)
	d := m.Destination()
	output = &[]string{}
	e = &execution{
		Options: Options{Plan: &study.Plan{Hosts: map[string]study.Host{
			"far": {SSH: d.Host, Identity: d.Identity, KnownHosts: d.KnownHosts, Config: d.Config},
		}}},
		events: func(event Event) { *output = append(*output, event.Message) },
	}
	t.Cleanup(func() { e.closeHosts() })
	return e, output
}

func onFar(t *testing.T, e *execution, kind, options string) environment.Environment {
	t.Helper()
	env, facts, err := e.checkOn(t.Context(), study.Environment{Name: kind, Kind: kind, Options: json.RawMessage(options)}, "far")
	if err != nil || env == nil {
		t.Fatalf("%+v, %v", facts, err)
	}
	return env
}

func TestALostSessionIsReopenedAtTheNextStart(t *testing.T) {
	m := sshhost.New(t).Machine(t)
	e, output := withFar(t, m)
	env := onFar(t, e, "bare", `{"broken": false}`)
	for _, name := range []string{"none", "another"} { // a start needs one of them
		if err := env.Prepare(t.Context(), &image.Image{Name: name}, func(string) {}); err != nil {
			t.Fatal(err)
		}
	}
	request := environment.Request{Name: "one", Owner: testenv.Owner(t, t.TempDir()), Image: &image.Image{Name: "none"}, Console: struct {
		io.Writer
		io.Closer
	}{io.Discard, io.NopCloser(nil)}}
	start := func() (environment.Instance, error) {
		// What a trial starts with ends with the trial, and the session does not.
		ctx, end := context.WithCancel(t.Context())
		defer end()
		return env.Start(ctx, request)
	}
	hangUp := func() {
		lost := e.hosts["far"].session.Done()
		m.HangUp()
		<-lost
	}
	first, err := start()
	if err != nil {
		t.Fatal(err)
	}
	hangUp()
	<-first.Agent().Done()
	if err := first.Stop(t.Context()); err != nil {
		t.Errorf("the stop of one whose link is lost: %v", err)
	}

	known, err := os.ReadFile(m.KnownHosts)
	if err == nil {
		err = os.WriteFile(m.KnownHosts, nil, 0o600) // so that connecting is refused
	}
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a trial each
		_, err := start()
		for _, want := range []string{"host far: the link to tare on root@" + m.Address, "connecting again failed", "ssh " + m.Destination().Host + " true"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("the error does not say %q: %v", want, err)
			}
		}
	}

	if err := os.WriteFile(m.KnownHosts, known, 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		again, err := start()
		if err != nil {
			t.Fatal(err)
		}
		defer again.Stop(context.Background())
		if err := again.Agent().Err(); err != nil {
			t.Error(err)
		}
	}
	tries := slices.DeleteFunc(slices.Clone(*output), func(line string) bool { return !strings.Contains(line, "connecting again") })
	if len(tries) != 3 {
		t.Errorf("it connected again %d times: %q", len(tries), *output)
	}
}
