package docker

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/environment/support/shims"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/linux/procfile"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// flavour is one way of running that is tried for real.
type flavour struct {
	name    string
	kind    string
	brand   *brand // nil: no engine
	options func(any)
}

var flavours = []flavour{
	{"docker", "docker", &theDocker, func(any) {}},
	{"podman", "podman", &thePodman, func(any) {}},
	{"docker with gVisor", "docker", &theDocker, func(o any) { o.(*Options).Runtime = "runsc" }},
}

// try runs the test in each of the flavours that works here.
func try(t *testing.T, flavours []flavour, test func(t *testing.T, s *stage)) {
	for _, f := range flavours {
		t.Run(f.name, func(t *testing.T) { test(t, setUp(t, f)) })
	}
}

// stage is a prepared environment with an owner.
type stage struct {
	flavour
	env    environment.Environment
	owner  *cleanup.Owner
	image  *image.Image
	engine *engine
}

func setUp(t *testing.T, f flavour) *stage {
	needs.Root(t)
	testenv.NeedsAgent(t)
	registration, _ := environment.Lookup(f.kind)
	options := registration.Options()
	f.options(options)
	testenv.NeedsKind(t, f.kind, options)
	env, err := registration.New(options)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{flavour: f, env: env, image: testenv.Image(t), owner: testenv.Owner(t, t.TempDir())}
	if err := env.Prepare(t.Context(), s.image, func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	if f.brand != nil {
		if s.engine, err = f.brand.at(f.brand.host()); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

var limits = environment.Limits{CPUs: 0.5, Memory: 256 * quantity.MiB, PIDs: 400, Cores: []int{0}}

func (s *stage) start(t *testing.T, name string, l environment.Limits) environment.Instance {
	console := &bytes.Buffer{}
	i, err := s.env.Start(t.Context(), environment.Request{Name: name, Owner: s.owner, Image: s.image, Limits: l, Console: console})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return i
}

// left lists what of the stage's owner is still there.
func (s *stage) left() []string {
	return testenv.Left(context.Background(), s.owner.Home(), s.owner.ID())
}

// A container's shim copies its standard streams: an agent that answers while the shim
// is stopped is reached without it.
func TestCommandsDoNotPassTheShim(t *testing.T) {
	try(t, flavours, func(t *testing.T, s *stage) {
		i := s.start(t, "quiet", environment.Limits{}).(*instance)
		if i.gvisor {
			t.Skip("needs an agent without a sandbox: one in gVisor has no files of the host")
		}
		if notes := strings.Join(i.Notes(), "\n"); strings.Contains(notes, shims.ViaEngine) {
			t.Fatal(notes)
		}
		shim := i.processes[1]
		if err := unix.PidfdSendSignal(shim.FD, unix.SIGSTOP, nil, 0); err != nil {
			t.Fatal(err)
		}
		defer unix.PidfdSendSignal(shim.FD, unix.SIGCONT, nil, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var out bytes.Buffer
		if exit, err := i.Agent().Run(ctx, agent.Command{Argv: []string{"echo", "past it"}, Stdout: &out}); err != nil || !exit.OK() || out.String() != "past it\n" {
			t.Errorf("%+v, %v, %q", exit, err, out.String())
		}
	})
}

func TestSweepRemovesDeadOwnersContainersOnly(t *testing.T) {
	try(t, flavours, func(t *testing.T, s *stage) {
		other, err := cleanup.Open(s.owner.Home())
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		dead := s.start(t, "dead", environment.Limits{})
		living, err := s.env.Start(t.Context(), environment.Request{Name: "living", Owner: other, Image: s.image, Console: &bytes.Buffer{}})
		if err != nil {
			t.Fatal(err)
		}
		defer living.Stop(context.Background())
		elsewhere, err := s.brand.sweep(t.Context(), t.TempDir(), func(string) bool { return true })
		if err != nil || len(elsewhere) > 0 {
			t.Errorf("another home's sweep removed %q (%v)", elsewhere, err)
		}
		removed, err := s.brand.sweep(t.Context(), s.owner.Home(), func(id string) bool { return id == s.owner.ID() })
		if err != nil || len(removed) != 1 || !strings.HasPrefix(removed[0], "container ") {
			t.Errorf("the sweep removed %q (%v)", removed, err)
		}
		<-dead.Agent().Done()
		if left := slices.DeleteFunc(s.left(), func(line string) bool { return strings.HasSuffix(line, "/dead") }); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
		if got := testenv.Run(t, living, "echo alive"); got != "alive" {
			t.Errorf("the living owner's instance says %q", got)
		}
	})
}

func TestSweepFindsAnEngineAtAnUnusualPlace(t *testing.T) {
	s := setUp(t, flavours[0])
	i := s.start(t, "away", environment.Limits{})
	// The usual place is elsewhere now, and the owner's note leads to the engine.
	usual := s.engine.host
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none.sock"))
	instance := i.(*instance)
	if err := instance.engine.remember(instance.directory); err != nil {
		t.Fatal(err)
	}
	removed, err := theDocker.sweep(t.Context(), s.owner.Home(), func(id string) bool { return id == s.owner.ID() })
	if err != nil || len(removed) != 1 {
		t.Errorf("the sweep removed %q (%v) with an engine at %s", removed, err, usual)
	}
}

func TestAFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	s := setUp(t, flavours[0])
	strange := *s.image
	strange.Digest = "sha256:" + strings.Repeat("0", 64)
	_, err := s.env.Start(t.Context(), environment.Request{Name: "lost", Owner: s.owner, Image: &strange, Console: &bytes.Buffer{}})
	if err == nil || !strings.Contains(err.Error(), "was not prepared") {
		t.Errorf("a missing image gives %v", err)
	}
	if left := s.left(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestAnUnknownRuntimeIsMissingWithTheLineThatAddsIt(t *testing.T) {
	s := setUp(t, flavours[0])
	options := s.env.(*containers).options
	options.Runtime = "runsc-unheard-of"
	state, findings := environment.Check(t.Context(), "docker", &options)
	last := findings[len(findings)-1]
	if state != environment.Missing || !strings.Contains(last.Fix.String(), "daemon.json") || !strings.Contains(last.Fix.String(), "--add-runtime runsc-unheard-of=") ||
		!strings.Contains(last.Reason, "only ") {
		t.Errorf("%s %+v", state, last)
	}
	options.Runtime, options.Log = "", "unheard-of"
	state, findings = environment.Check(t.Context(), "docker", &options)
	if last := findings[len(findings)-1]; state != environment.Missing || !strings.Contains(last.Reason, "json-file") {
		t.Errorf("%s %+v", state, last)
	}
}

// gVisor refuses the host's network under Docker after it has started its
// processes. Validate forbids it; what such a failure leaves goes all the same.
func TestAStartThatFailsHalfwayLeavesNothing(t *testing.T) {
	s := setUp(t, flavours[2])
	broken := s.env.(*containers)
	broken.options.Network = "host"
	_, err := broken.Start(t.Context(), environment.Request{Name: "broken", Owner: s.owner, Image: s.image, Limits: limits, Console: &bytes.Buffer{}})
	if err == nil || !strings.Contains(err.Error(), "root network namespace") {
		t.Errorf("gVisor in the host's network gives %v", err)
	}
	if left := s.left(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	for _, pid := range procfile.PIDs() {
		if line := strings.Join(procfile.CommandLine(pid), " "); shims.IsHelper(pid) && strings.Contains(line, "tare-"+s.owner.ID()) {
			t.Errorf("process %d still runs: %s", pid, line)
		}
	}
}

func TestALimitOfIOOnDataInMemoryIsRefused(t *testing.T) {
	f := flavours[0]
	f.options = func(o any) { o.(*Options).Data = "tmpfs" }
	s := setUp(t, f)
	_, err := s.env.Start(t.Context(), environment.Request{Name: "lost", Owner: s.owner, Image: s.image, Console: &bytes.Buffer{},
		Limits: environment.Limits{IO: environment.IO{Write: quantity.MiB}}})
	if !errors.Is(err, environment.ErrMemoryIO) {
		t.Errorf("the start gives %v", err)
	}
	if left := s.left(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// gVisor leaves the container's group behind when it gets too few threads; the
// owner, who closes at the end, must find nothing.
func TestASandboxWithTooFewThreadsLeavesNoCgroup(t *testing.T) {
	s := setUp(t, flavours[2])
	_, err := s.env.Start(t.Context(), environment.Request{Name: "few", Owner: s.owner, Image: s.image,
		Limits: environment.Limits{PIDs: 10}, Console: &bytes.Buffer{}})
	if err == nil {
		t.Fatal("it started with 10 threads")
	}
	t.Log(err)
	if left := s.left(); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// Without a way out there is a network between containers all the same, or a
// reason why there is none.
func TestANetworkOfContainersWithoutOne(t *testing.T) {
	none := func(o any) { o.(*Options).Network = "none" }
	try(t, []flavour{{"docker", "docker", &theDocker, none}, {"podman", "podman", &thePodman, none}}, func(t *testing.T, s *stage) {
		n, err := s.env.NewNetwork(t.Context(), s.owner, "apart")
		if err != nil {
			t.Log(err)
			if s.kind == "docker" || !strings.Contains(err.Error(), "use network: bridge") {
				t.Error(err)
			}
		} else {
			var i environment.Instance
			i, err = s.env.Start(t.Context(), environment.Request{Name: "a", Owner: s.owner, Image: s.image, Console: io.Discard, Network: n})
			if err != nil {
				t.Fatal(err)
			}
			if i.Address() == "" {
				t.Error("it has no address")
			}
			if err := errors.Join(i.Stop(t.Context()), n.Close(t.Context())); err != nil {
				t.Error(err)
			}
		}
		if left := s.left(); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

func TestImagesAreRemovedByTheirDigest(t *testing.T) {
	s := setUp(t, flavours[0])
	const ours = "sha256:a-test's"
	oci, err := mutate.Config(empty.Image, v1.Config{Labels: map[string]string{image.Label: ours}})
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := tarball.Write(name.MustParseReference("localhost/tare:a-test"), oci, &archive); err != nil {
		t.Fatal(err)
	}
	answer, err := s.engine.api.ImageLoad(t.Context(), &archive)
	if err != nil {
		t.Fatal(err)
	}
	io.Copy(io.Discard, answer)
	answer.Close()
	notOurs := func(digest string) bool { return digest != ours }
	for _, want := range []int{1, 0} {
		removed, err := RemoveImages(t.Context(), s.engine.host, notOurs)
		if err != nil || len(removed) != want {
			t.Errorf("removed %q (%v), want %d", removed, err, want)
		}
	}
	if _, err := s.engine.api.ImageInspect(t.Context(), s.image.EngineName()); err != nil {
		t.Errorf("the image to keep: %v", err)
	}
}
