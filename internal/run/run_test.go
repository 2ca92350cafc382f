package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/usage"
)

// bare is an environment without any isolation: the real agent as a child
// process. It lets a run be tested without root, engines and guests.
type bare struct {
	Broken bool `yaml:"broken" json:"broken"` // does not start
	Leaves bool `yaml:"leaves" json:"leaves"` // does not start, and leaves a process behind
	Unfit  bool `yaml:"unfit" json:"unfit"`   // cannot have the image
	// Kills is the number of the start that kills the test process, if it is a child of
	// the test.
	Kills int64 `yaml:"kills" json:"kills"`

	prepared sync.Map // the names of the images that it starts
}

var bareStarts, bareStops atomic.Int64

func init() {
	environment.Register(environment.Registration{
		Kind: "bare", About: "the agent as a child process",
		Options: func() any { return &bare{} },
		Requires: func(any) []environment.Requirement {
			return []environment.Requirement{{What: "nothing", Check: func(context.Context) environment.Finding {
				return environment.Finding{State: environment.Usable}
			}}}
		},
		New: func(o any) (environment.Environment, error) { return o.(*bare), nil },
	})
	environment.Register(environment.Registration{
		Kind: "absent", About: "never there",
		Options: func() any { return &struct{}{} },
		Requires: func(any) []environment.Requirement {
			return []environment.Requirement{{What: "a thing", Check: func(context.Context) environment.Finding {
				return environment.Finding{State: environment.Missing, Reason: "looked and did not find it", Fix: environment.Advice("get-thing")}
			}}}
		},
		New: func(any) (environment.Environment, error) { panic("made though it is missing") },
	})
}

func (b *bare) NewNetwork(context.Context, *cleanup.Owner, string) (environment.Network, error) {
	return nil, nil
}
func (b *bare) Label() string                              { return "" }
func (b *bare) Versions(context.Context) map[string]string { return nil }

func (b *bare) Prepare(_ context.Context, img *image.Image, _ func(string)) error {
	if b.Unfit {
		return fmt.Errorf("the image does not fit in")
	}
	if img != nil {
		b.prepared.Store(img.Name, true)
	}
	return nil
}

func (b *bare) Start(ctx context.Context, r environment.Request) (environment.Instance, error) {
	if b.Broken {
		return nil, fmt.Errorf("the thing is broken")
	}
	if b.Leaves {
		left := exec.Command("sleep", "1000")
		if err := left.Start(); err != nil {
			return nil, err
		}
		go left.Wait()
		_, err := r.Owner.Adopt(left.Process.Pid, "left")
		return nil, errors.Join(fmt.Errorf("the thing left something"), err)
	}
	if r.Image != nil {
		if _, is := b.prepared.Load(r.Image.Name); !is {
			return nil, fmt.Errorf("the image %s was not prepared", r.Image.Name)
		}
	}
	began := time.Now()
	program, err := agent.WriteBinary(filepath.Join(r.Owner.Home(), "agent"))
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, "stdio")
	cmd.Stderr = r.Console
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c, err := agent.Connect(ctx, struct {
		io.Reader
		io.WriteCloser
	}{out, in})
	if err != nil {
		return nil, err
	}
	if bareStarts.Add(1) == b.Kills && os.Getenv(killedRunTests) != "" {
		return nil, syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return &child{c, cmd, time.Since(began)}, nil
}

type child struct {
	client *agent.Client
	cmd    *exec.Cmd
	took   time.Duration
}

func (c *child) Details() environment.Details { return environment.Details{} }
func (c *child) Agent() *agent.Client         { return c.client }
func (c *child) Phases() []environment.Phase {
	return []environment.Phase{{Name: environment.PreparePhase, Duration: time.Hour}, {Name: "agent", Duration: c.took}}
}
func (c *child) Footprint() usage.Footprint { return usage.Footprint{} }
func (c *child) Paths() environment.Paths   { return environment.Paths{} }
func (c *child) Notes() []string            { return nil }
func (c *child) Address() string            { return "127.0.0.1" }
func (c *child) Stop(context.Context) error {
	if c.cmd.ProcessState != nil {
		return nil
	}
	bareStops.Add(1)
	c.client.Close()
	c.cmd.Wait()
	return nil
}

// plan resolves a study whose environments are bare, with an image that needs
// no root to make.
func plan(t *testing.T, workloads, design, environments string) *study.Plan {
	t.Helper()
	directory := t.TempDir()
	img, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(directory, "image.tar")
	tag, _ := name.NewTag("test:1")
	if err := tarball.WriteToFile(path, tag, img); err != nil {
		t.Fatal(err)
	}
	for file, text := range map[string]string{
		"echo.yaml": `
workload: echo
stresses: cpu
parameters: {say: {default: "5"}}
setup: [{run: echo set up}]
driver: {run: "echo rate ${say}"}
parser: {regex: ['rate (?P<rate>\d+)']}
metrics: [{name: rate, unit: op/s, better: higher, primary: true}]
`, "outside.yaml": `
workload: outside
stresses: cpu
roles: {driver: {place: host}}
setup: [{run: echo set up}]
driver: {role: driver, run: echo rate 5}
parser: {regex: ['rate (?P<rate>\d+)']}
metrics: [{name: rate, unit: op/s, better: higher, primary: true}]
`, "crash.yaml": `
workload: crash
stresses: cpu
driver: {run: "echo words before the end >&2; kill -9 $PPID; sleep 30"}
metrics: [{name: wall_seconds, unit: s, better: lower, primary: true}]
`, "once.yaml": `
workload: once
stresses: cpu
begin: [{run: "echo begin >> ` + directory + `/log"}]
end: [{run: "echo end >> ` + directory + `/log"}]
driver: {run: "echo drive >> ` + directory + `/log"}
metrics: [{name: wall_seconds, unit: s, better: lower, primary: true}]
`,
	} {
		if err := os.WriteFile(filepath.Join(directory, file), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text := fmt.Sprintf("study: a test\nbaseline: a\nenvironments: %s\nworkloads: %s\nimage: {reference: 'tar:%s'}\ndesign: %s\n",
		environments, workloads, path, design)
	file := filepath.Join(directory, "test.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	loaded, err := study.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	seed := uint64(1)
	p, err := study.Resolve(loaded, study.Overrides{Seed: &seed})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const two = "{a: {kind: bare}, b: {kind: bare}}"

func execute(t *testing.T, ctx context.Context, o Options) *Result {
	t.Helper()
	if _, err := agent.WriteBinary(t.TempDir()); err != nil {
		t.Skip("needs the agent: " + err.Error())
	}
	if o.Home == "" {
		o.Home = t.TempDir()
	}
	r, err := Execute(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestARunEndsWithTrialsReportsAndNothingLeft(t *testing.T) {
	home := t.TempDir()
	starts, stops := bareStarts.Load(), bareStops.Load()
	r := execute(t, t.Context(), Options{Home: home, Plan: plan(t, "[{use: startup}, {use: ./echo.yaml, say: [5, 6]}]", "{blocks: 2, fresh: block, rounds: 1}", two)})
	if len(r.Run.Trials) != 12 || r.Failed != 0 {
		t.Fatalf("%d trials, %d failed: %+v", len(r.Run.Trials), r.Failed, r.Run.Trials)
	}
	if n := bareStarts.Load() - starts; n != 4+4 || bareStops.Load()-stops != n {
		t.Errorf("%d starts and %d stops for 2 environments, their stops and 2 blocks", n, bareStops.Load()-stops)
	}
	for _, trial := range r.Run.Trials {
		if trial.Workload == "startup" {
			if s := trial.Metrics["start"]; s <= 0 || s > 60 || trial.Metrics["agent"] != s {
				t.Errorf("tare's own preparation is in the start: %v", trial.Metrics)
			}
			continue
		}
		if want := strings.TrimPrefix(trial.Level, "say="); fmt.Sprint(trial.Metrics["rate"]) != want {
			t.Errorf("level %s measured %v", trial.Level, trial.Metrics)
		}
		if trial.Missing["cpu_seconds"] == "" {
			t.Error("resource use of an unknown footprint is not missing")
		}
	}
	for _, file := range []string{"report.html", "report.md", "SHA256SUMS", "journal.jsonl"} {
		if info, err := os.Stat(filepath.Join(r.Directory, file)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", file, err)
		}
	}
	again, _ := rundir.Open(r.Directory)
	if wrong, err := again.Verify(); err != nil || len(wrong) > 0 {
		t.Errorf("checksums: %v %v", wrong, err)
	}
	if left, err := cleanup.Alive(home); err != nil || len(left) > 0 {
		t.Errorf("work in progress is left: %v", left)
	}
}

func TestAnInterruptedRunResumesWhereItStopped(t *testing.T) {
	home := t.TempDir()
	p := plan(t, "[{use: ./echo.yaml, say: [1, 2, 3]}]", "{order: interleaved, blocks: 4, fresh: block}", two)
	whole := execute(t, t.Context(), Options{Home: home, Plan: p})
	order := func(r *Result) (list []string) {
		for _, t := range r.Run.Trials {
			list = append(list, fmt.Sprint(t.Block, t.Position, t.Environment, t.Level))
		}
		return list
	}
	for _, after := range []int{0, 1, 7, 23} {
		ctx, cancel := context.WithCancel(t.Context())
		n := 0
		cut := execute(t, ctx, Options{Home: home, Plan: p, Events: func(e Event) {
			if e.Kind == Trying {
				if n == after {
					cancel()
				}
				n++
			}
		}})
		cancel()
		if !cut.Interrupted || len(cut.Run.Trials) != after {
			t.Fatalf("interrupted after %d: %v, %d trials", after, cut.Interrupted, len(cut.Run.Trials))
		}
		resumed := execute(t, t.Context(), Options{Home: home, Directory: cut.Directory})
		if !slices.Equal(order(resumed), order(whole)) {
			t.Errorf("resumed after %d trials it ran\n%v\nthe whole run\n%v", after, order(resumed), order(whole))
		}
		if sessions := resumed.Run.Manifest.Sessions; len(sessions) != 2 || sessions[0].Stopped != "interrupted" {
			t.Errorf("sessions: %+v", sessions)
		}
	}
}

// The last analysis has spent the error, so that later blocks could not decide.
func TestARunThatIsOverMakesNoMoreTrials(t *testing.T) {
	home := t.TempDir()
	p := plan(t, "[{use: ./echo.yaml}]", "{order: interleaved, blocks: 4, fresh: block}", two)
	ctx, cancel := context.WithCancel(t.Context())
	cut := execute(t, ctx, Options{Home: home, Plan: p, Events: func(e Event) {
		if e.Kind == Trying && e.Slot.Block == 2 {
			cancel()
		}
	}})
	for _, over := range []bool{true, false} {
		markOver(t, cut.Directory, over)
		var said []string
		r := execute(t, t.Context(), Options{Home: home, Directory: cut.Directory, Events: func(e Event) { said = append(said, e.Message) }})
		want, sessions := 8, 2
		if over {
			want, sessions = 2, 1
		}
		if len(r.Run.Trials) != want || len(r.Run.Manifest.Sessions) != sessions || slices.Contains(said, afterTheEnd) != over {
			t.Errorf("over %v: %d trials, %d sessions, said %q", over, len(r.Run.Trials), len(r.Run.Manifest.Sessions), said)
		}
	}
}

// markOver writes into a run whether its last analysis is made.
func markOver(t *testing.T, directory string, over bool) {
	t.Helper()
	w, err := rundir.Resume(directory)
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.Manifest.Sessions {
		w.Manifest.Sessions[i].Over = over
	}
	if err := errors.Join(w.SaveManifest(), w.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestAnInstanceThatDiesFailsItsTrialAndNoOther(t *testing.T) {
	r := execute(t, t.Context(), Options{Plan: plan(t, "[{use: ./crash.yaml}, {use: ./echo.yaml}]", "{blocks: 2, fresh: block}", two)})
	for _, trial := range r.Run.Trials {
		switch {
		case trial.Workload == "echo" && trial.Status != rundir.OK:
			t.Errorf("echo beside a crash: %s", trial.Reason)
		case trial.Workload == "crash" && (trial.Status != rundir.Failed || !strings.Contains(trial.Reason, "words before the end")):
			t.Errorf("a crash is %s: %s", trial.Status, trial.Reason)
		}
	}
}

func TestAnEnvironmentThatDoesNotStartIsGivenUpWithItsReason(t *testing.T) {
	r := execute(t, t.Context(), Options{Plan: plan(t, "[{use: ./echo.yaml}]", "{blocks: 6, fresh: block}", "{a: {kind: bare}, b: {kind: bare, broken: true}}")})
	failed := 0
	for _, trial := range r.Run.Trials {
		if trial.Environment == "b" {
			failed++
			if trial.Status != rundir.Failed || !strings.Contains(trial.Reason, "the thing is broken") {
				t.Errorf("%s: %s", trial.Status, trial.Reason)
			}
		}
	}
	if failed != 3 {
		t.Errorf("tried %d times", failed)
	}
}

func TestLeftoversOfAnEnvironmentAreRemovedAndReported(t *testing.T) {
	var events []Event
	r := execute(t, t.Context(), Options{Plan: plan(t, "[{use: ./echo.yaml}]", "{blocks: 1, fresh: block}", "{a: {kind: bare}, b: {kind: bare, leaves: true}}"),
		Events: func(e Event) { events = append(events, e) }})
	if r.Failed == 0 || len(r.Run.Trials) < 2 {
		t.Errorf("%d of %d trials failed", r.Failed, len(r.Run.Trials))
	}
	if n := len(events); n < 2 || events[n-1].Kind != Done || events[n-2].Kind != Cleared || !strings.Contains(events[n-2].Message, "(left)") {
		t.Errorf("the last events are %+v", events[max(0, n-2):])
	}
}

func TestAMissingEnvironmentIsSkippedWithItsFix(t *testing.T) {
	var skipped []string
	r := execute(t, t.Context(), Options{
		Plan: plan(t, "[{use: ./echo.yaml}]", "{blocks: 1, fresh: block}", "{a: {kind: bare}, c: {kind: absent}}"),
		Events: func(e Event) {
			if e.Kind == Skipped {
				skipped = append(skipped, e.Environment+" "+e.Message)
			}
		}})
	if len(r.Run.Trials) != 1 || r.Run.Manifest.Environments["c"].State != environment.Missing {
		t.Errorf("%+v", r.Run.Manifest.Environments)
	}
	if len(skipped) != 1 || !strings.Contains(skipped[0], "needs a thing: looked and did not find it; fix it with: get-thing") {
		t.Errorf("said %q", skipped)
	}
}

func TestAnEnvironmentThatCannotBePreparedIsLeftOut(t *testing.T) {
	for _, c := range []struct {
		environments string
		trials       int
		alone        bool
	}{
		{"{a: {kind: bare}, b: {kind: bare}, c: {kind: bare, unfit: true}}", 2, false},
		{"{a: {kind: bare}, c: {kind: bare, unfit: true}}", 1, true},
	} {
		r := execute(t, t.Context(), Options{Plan: plan(t, "[{use: ./echo.yaml}]", "{blocks: 1, fresh: block}", c.environments)})
		facts := r.Run.Manifest.Environments["c"]
		if len(r.Run.Trials) != c.trials || !strings.Contains(Why(facts), "needs the image in its form for c: the image does not fit in") || r.Alone() != c.alone {
			t.Errorf("%s: %d trials, alone %t, %+v", c.environments, len(r.Run.Trials), r.Alone(), facts)
		}
	}
	_, err := Execute(t.Context(), Options{Home: t.TempDir(), Plan: plan(t, "[{use: ./echo.yaml}]", "{blocks: 1}", "{a: {kind: bare, unfit: true}, b: {kind: bare}}")})
	if err == nil || !strings.Contains(err.Error(), "prepare a: the image does not fit in") {
		t.Errorf("a baseline that cannot be prepared: %v", err)
	}
}

func TestAMissingBaselineIsAnErrorThatSaysSo(t *testing.T) {
	_, err := Execute(t.Context(), Options{Home: t.TempDir(), Plan: plan(t, "[{use: ./echo.yaml}]", "{blocks: 1}", "{a: {kind: absent}, b: {kind: bare}}")})
	if err == nil || !strings.Contains(err.Error(), "baseline a does not work here") {
		t.Errorf("got %v", err)
	}
}

func TestBeginAndEndRunOnceInAnInstance(t *testing.T) {
	for fresh, want := range map[string]string{
		"run":   "begin drive drive drive end",
		"trial": "begin drive end begin drive end begin drive end",
	} {
		p := plan(t, "[{use: ./once.yaml}]", "{order: interleaved, blocks: 3, fresh: "+fresh+"}", "{a: {kind: bare}}")
		log := strings.TrimPrefix(strings.Fields(p.Workloads[0].Pack.Driver.Run)[3], "")
		execute(t, t.Context(), Options{Plan: p})
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(strings.Fields(string(text)), " "); got != want {
			t.Errorf("fresh: %s ran %q, want %q", fresh, got, want)
		}
	}
}

func TestAnInstanceOfTheRunOutlivesBlocks(t *testing.T) {
	r := execute(t, t.Context(), Options{Plan: plan(t, "[{use: ./once.yaml, fresh: run}, {use: ./echo.yaml}]", "{blocks: 3, fresh: block}", two)})
	instances := map[string]map[string]bool{"once": {}, "echo": {}}
	for _, trial := range r.Run.Trials {
		instances[trial.Workload][trial.Instance] = true
	}
	if len(instances["once"]) != 2 || len(instances["echo"]) != 6 {
		t.Errorf("two environments in three blocks used %v", instances)
	}
}

func TestEventsAreLinesOfJSON(t *testing.T) {
	var kinds []string
	execute(t, t.Context(), Options{Plan: plan(t, "[{use: ./echo.yaml}]", "{blocks: 1, fresh: block}", two), Events: func(e Event) {
		text, err := json.Marshal(e)
		if err != nil {
			t.Error(err)
		}
		var back struct{ Event string }
		if json.Unmarshal(text, &back); back.Event == "" {
			t.Errorf("no kind in %s", text)
		}
		kinds = append(kinds, back.Event)
	}})
	for _, want := range []string{"block", "trying", "tried", "done"} {
		if !slices.Contains(kinds, want) {
			t.Errorf("no %s among %v", want, kinds)
		}
	}
}
