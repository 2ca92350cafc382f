package docker

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/cgroup"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/owner"
	"tare/internal/quantity"
)

// flavour is one way of running that is tried for real.
type flavour struct {
	name    string
	kind    string
	brand   *brand // nil: no engine
	options func(any)
}

var flavours = []flavour{
	{"docker with its default runtime", "docker", &theDocker, func(any) {}},
	{"docker without a network of its own", "docker", &theDocker, func(o any) { o.(*Options).Network = "host"; o.(*Options).Seccomp = "unconfined" }},
	{"docker with a volume", "docker", &theDocker, func(o any) { o.(*Options).Data = "volume"; o.(*Options).Network = "none" }},
	{"docker with a log", "docker", &theDocker, func(o any) { o.(*Options).Data = "overlay"; o.(*Options).Log = "json-file" }},
	{"podman", "podman", &thePodman, func(any) {}},
	{"gvisor under docker", "gvisor", &theDocker, func(o any) { o.(*GvisorOptions).Engine = "docker" }},
	{"gvisor by itself", "gvisor", nil, func(o any) { o.(*GvisorOptions).Engine = "direct" }},
	{"gvisor by itself with ptrace in the host's network", "gvisor", nil, func(o any) {
		o.(*GvisorOptions).Engine, o.(*GvisorOptions).Platform, o.(*GvisorOptions).Network = "direct", "ptrace", "host"
		o.(*GvisorOptions).Data = "overlay"
	}},
}

// try runs the test in every flavour that works here.
func try(t *testing.T, flavours []flavour, test func(t *testing.T, s *stage)) {
	for _, f := range flavours {
		t.Run(f.name, func(t *testing.T) { test(t, setUp(t, f)) })
	}
}

// stage is a prepared environment with an owner.
type stage struct {
	flavour
	env    environment.Environment
	owner  *owner.Owner
	image  *image.Image
	engine *engine
}

func testImage(t *testing.T) *image.Image {
	store, err := image.Open(filepath.Join(os.TempDir(), "tare-try-images"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := store.Get(t.Context(), image.Source{Recipe: &image.Recipe{}}, func(line string) { t.Log(line) })
	if err != nil {
		t.Skip("needs an image: " + err.Error())
	}
	return img
}

func setUp(t *testing.T, f flavour) *stage {
	if os.Geteuid() != 0 {
		t.Skip("needs root: containers and cgroups")
	}
	registration, _ := environment.Lookup(f.kind)
	options := registration.Options()
	f.options(options)
	if g, ok := options.(*GvisorOptions); ok {
		g.Binary = gvisorProgram(g.Binary)
	}
	if state, findings := environment.Check(t.Context(), f.kind, options); state == environment.Missing {
		last := findings[len(findings)-1]
		t.Skipf("needs %s: %s", last.What, last.Reason)
	}
	env, err := registration.New(options)
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{flavour: f, env: env, image: testImage(t)}
	if err := env.Prepare(t.Context(), s.image, func(line string) { t.Log(line) }); err != nil {
		t.Fatal(err)
	}
	if s.owner, err = owner.Open(t.TempDir()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.owner.Close(); err != nil {
			t.Error(err)
		}
	})
	if f.brand != nil {
		if s.engine, err = f.brand.at(f.brand.host()); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// gvisorProgram finds runsc where a Docker daemon has it, when it is not on PATH.
func gvisorProgram(binary string) string {
	if e, err := theDocker.at(DockerHost()); err == nil {
		if info, err := e.info(context.Background()); err == nil && info.Runtimes["runsc"].Path != "" {
			return info.Runtimes["runsc"].Path
		}
	}
	return binary
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

// say runs a shell line inside and returns what it printed.
func say(t *testing.T, i environment.Instance, line string) string {
	var out bytes.Buffer
	exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"/bin/sh", "-c", line}, Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if !exit.OK() {
		t.Fatalf("%s: %+v: %s", line, exit, out.String())
	}
	return strings.TrimSpace(out.String())
}

// left lists what of an owner is still there: containers, processes, groups
// and its instances' folders.
func (s *stage) left(t *testing.T) []string {
	list := []string{}
	if s.engine != nil {
		found, err := s.engine.api.ContainerList(context.Background(), client.ContainerListOptions{All: true,
			Filters: make(client.Filters).Add("label", owner.Label+"="+s.owner.ID())})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range found.Items {
			list = append(list, fmt.Sprintf("container %s (%s)", c.ID, c.State))
		}
		volumes, err := s.engine.api.VolumeList(context.Background(), client.VolumeListOptions{
			Filters: make(client.Filters).Add("label", owner.Label+"="+s.owner.ID())})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range volumes.Items {
			list = append(list, "volume "+v.Name)
		}
	}
	if group, err := cgroup.At(owner.CgroupRoot + "/" + s.owner.ID()); err == nil && group.Exists() {
		if children, _ := group.Children(); len(children) > 0 {
			list = append(list, fmt.Sprint("groups ", children))
		}
	}
	mounts, _ := os.ReadFile("/proc/mounts")
	for line := range strings.Lines(string(mounts)) {
		if strings.Contains(line, s.owner.ID()) {
			list = append(list, "mount "+line)
		}
	}
	entries, _ := os.ReadDir(filepath.Join(s.owner.Home(), "work", s.owner.ID()))
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			list = append(list, "folder "+e.Name())
		}
	}
	return list
}

func TestAnInstanceRunsCommandsUnderItsLimits(t *testing.T) {
	try(t, flavours, func(t *testing.T, s *stage) {
		began := time.Now()
		i := s.start(t, "one", limits)
		total := time.Since(began)
		var sum time.Duration
		for _, p := range i.Phases() {
			sum += p.Duration
		}
		if sum <= 0 || sum > total {
			t.Errorf("the phases %v add up to %v of %v", i.Phases(), sum, total)
		}
		t.Log(i.Phases(), i.Footprint(), i.Notes())

		if got := say(t, i, "echo out; echo err >&2"); got != "out\nerr" {
			t.Errorf("echo gave %q", got)
		}
		exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"/bin/sh", "-c", "exit 3"}})
		if err != nil || exit.Code != 3 {
			t.Errorf("exit 3 gave %+v, %v", exit, err)
		}
		if got := say(t, i, "ls -A /data; echo hello >/data/file; cat /data/file"); got != "hello" {
			t.Errorf("/data is not fresh and writable: %q", got)
		}
		if got := say(t, i, "id -u; nproc; . /etc/os-release; echo $ID"); !strings.HasPrefix(got, "0\n1\n") {
			t.Errorf("user, number of CPUs and distribution are %q", got)
		}
		for _, note := range i.Notes() {
			if strings.Contains(note, "limit of") || strings.Contains(note, "sees") {
				t.Errorf("a limit did not take hold: %s", note)
			}
		}
		fp := i.Footprint()
		if len(fp.Cgroups) != 1 {
			t.Fatalf("the footprint is %+v", fp)
		}
		group, err := cgroup.At(fp.Cgroups[0])
		if err != nil {
			t.Fatal(err)
		}
		if pids, err := group.PIDs(); err != nil || len(pids) == 0 {
			t.Errorf("no process is in %v (%v)", fp.Cgroups, err)
		}
		if before, err := group.CPU(); err != nil {
			t.Error(err)
		} else {
			say(t, i, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
			after, _ := group.CPU()
			if user, system := after.Since(before); user+system <= 0 {
				t.Error("a loop inside costs nothing in the group")
			}
		}
		if fp.NetworkPID != 0 {
			if _, err := os.Stat(fmt.Sprintf("/proc/%d/net/dev", fp.NetworkPID)); err != nil {
				t.Error(err)
			}
		}

		pids := pidsIn(group)
		for _, p := range fp.Processes {
			pids = append(pids, p.PID)
		}
		held := hold(t, pids)
		if err := i.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := i.Stop(t.Context()); err != nil {
			t.Errorf("stopping twice: %v", err)
		}
		for pid, p := range held {
			if !p.ended(t.Context(), time.Second) {
				t.Errorf("process %d (%v) still runs", pid, commandLine(pid))
			}
		}
		if left := s.left(t); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

func pidsIn(group *cgroup.Group) []int {
	pids, _ := group.PIDs()
	return pids
}

// hold takes hold of processes, so that their ends can be seen.
func hold(t *testing.T, pids []int) map[int]*process {
	held := map[int]*process{}
	for _, pid := range pids {
		if p, err := watch(pid); err == nil {
			held[pid] = p
			t.Cleanup(p.close)
		}
	}
	return held
}

func TestTheDeathOfAnInstanceIsNoticed(t *testing.T) {
	try(t, []flavour{flavours[0], flavours[4], flavours[5], flavours[6]}, func(t *testing.T, s *stage) {
		i := s.start(t, "killed", limits)
		if s.engine != nil {
			found, err := s.engine.api.ContainerList(t.Context(), client.ContainerListOptions{
				Filters: make(client.Filters).Add("label", owner.Label+"="+s.owner.ID())})
			if err != nil || len(found.Items) != 1 {
				t.Fatal(found.Items, err)
			}
			if _, err := s.engine.api.ContainerKill(t.Context(), found.Items[0].ID, client.ContainerKillOptions{Signal: "KILL"}); err != nil {
				t.Fatal(err)
			}
		} else {
			group, _ := cgroup.At(i.Footprint().Cgroups[0])
			for _, pid := range pidsIn(group) {
				if strings.HasPrefix(strings.Join(commandLine(pid), " "), "runsc-sandbox") {
					unix.Kill(pid, unix.SIGKILL)
				}
			}
		}
		select {
		case <-i.Agent().Done():
		case <-time.After(30 * time.Second):
			t.Fatal("nobody noticed")
		}
		if i.Agent().Err() == nil {
			t.Error("there is no reason for the end")
		}
		if err := i.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := s.left(t); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

func TestInstancesStartSideBySide(t *testing.T) {
	try(t, []flavour{flavours[0], flavours[4], flavours[5], flavours[6]}, func(t *testing.T, s *stage) {
		var all sync.WaitGroup
		for _, name := range []string{"left", "right"} {
			all.Add(1)
			go func() {
				defer all.Done()
				i, err := s.env.Start(t.Context(), environment.Request{Name: name, Owner: s.owner, Image: s.image, Console: &bytes.Buffer{}})
				if err != nil {
					t.Error(err)
					return
				}
				_, err = i.Agent().Run(t.Context(), agent.Command{Argv: []string{"touch", "/data/" + name}})
				var seen bytes.Buffer
				if err == nil {
					_, err = i.Agent().Run(t.Context(), agent.Command{Argv: []string{"ls", "/data"}, Stdout: &seen})
				}
				if err != nil || seen.String() != name+"\n" {
					t.Errorf("in %s /data holds %q (%v)", name, seen.String(), err)
				}
				if err := i.Stop(t.Context()); err != nil {
					t.Error(err)
				}
			}()
		}
		all.Wait()
		if left := s.left(t); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
	})
}

func TestSweepRemovesDeadOwnersContainersOnly(t *testing.T) {
	try(t, []flavour{flavours[0], flavours[4], flavours[5]}, func(t *testing.T, s *stage) {
		other, err := owner.Open(s.owner.Home())
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
		if left := slices.DeleteFunc(s.left(t), func(line string) bool { return line == "folder dead" }); len(left) > 0 {
			t.Errorf("left behind: %q", left)
		}
		if got := say(t, living, "echo alive"); got != "alive" {
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
	if err := instance.engine.remember(instance.folder); err != nil {
		t.Fatal(err)
	}
	removed, err := theDocker.sweep(t.Context(), s.owner.Home(), func(id string) bool { return id == s.owner.ID() })
	if err != nil || len(removed) != 1 {
		t.Errorf("the sweep removed %q (%v) with an engine at %s", removed, err, usual)
	}
}

func TestAStartThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	s := setUp(t, flavours[0])
	strange := *s.image
	strange.Digest = "sha256:" + strings.Repeat("0", 64)
	_, err := s.env.Start(t.Context(), environment.Request{Name: "lost", Owner: s.owner, Image: &strange, Console: &bytes.Buffer{}})
	if err == nil || !strings.Contains(err.Error(), "was not prepared") {
		t.Errorf("a missing image gives %v", err)
	}
	if left := s.left(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestAnUnknownRuntimeIsMissingWithTheLineThatAddsIt(t *testing.T) {
	s := setUp(t, flavours[0])
	options := s.env.(*containers).options
	options.Runtime = "runsc-unheard-of"
	state, findings := environment.Check(t.Context(), "docker", &options)
	last := findings[len(findings)-1]
	if state != environment.Missing || !strings.Contains(last.Mend, "daemon.json") || !strings.Contains(last.Mend, "--add-runtime runsc-unheard-of=") ||
		!strings.Contains(last.Reason, "only ") {
		t.Errorf("%s %+v", state, last)
	}
	options.Runtime, options.Log = "", "unheard-of"
	state, findings = environment.Check(t.Context(), "docker", &options)
	if last := findings[len(findings)-1]; state != environment.Missing || !strings.Contains(last.Reason, "json-file") {
		t.Errorf("%s %+v", state, last)
	}
}

// The test's own program, started again, starts an instance and is killed.
func TestAKilledTareLeavesNoInstance(t *testing.T) {
	try(t, []flavour{flavours[0], flavours[4], flavours[5], flavours[6]}, func(t *testing.T, s *stage) {
		victim := exec.Command(os.Args[0], "-test.run=^TestHoldAnInstance$")
		victim.Env = append(os.Environ(), "TARE_TEST_HOLD="+s.name, "TARE_TEST_HOME="+t.TempDir())
		said, err := victim.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := victim.Start(); err != nil {
			t.Fatal(err)
		}
		defer victim.Process.Kill()
		groupPath, pid := "", 0
		lines := bufio.NewScanner(said)
		for lines.Scan() {
			if n, _ := fmt.Sscanf(lines.Text(), "HOLDS %s %d", &groupPath, &pid); n == 2 {
				break
			}
		}
		if pid == 0 {
			t.Fatal("the other process started no instance")
		}
		group, err := cgroup.At(groupPath)
		if err != nil {
			t.Fatal(err)
		}
		held := hold(t, pidsIn(group))
		if len(held) == 0 {
			t.Fatalf("nothing runs in %s", groupPath)
		}
		victim.Process.Kill()
		victim.Wait()
		for pid, p := range held {
			if !p.ended(t.Context(), 20*time.Second) {
				t.Errorf("process %d (%v) still runs", pid, commandLine(pid))
			}
		}
	})
}

func TestHoldAnInstance(t *testing.T) {
	name := os.Getenv("TARE_TEST_HOLD")
	if name == "" {
		t.Skip("needs to be started by TestAKilledTareLeavesNoInstance")
	}
	s := setUp(t, flavours[slices.IndexFunc(flavours, func(f flavour) bool { return f.name == name })])
	own, err := owner.Open(os.Getenv("TARE_TEST_HOME"))
	if err != nil {
		t.Fatal(err)
	}
	s.owner = own
	i := s.start(t, "held", limits)
	fmt.Printf("HOLDS %s %d\n", i.Footprint().Cgroups[0], os.Getpid())
	<-i.Agent().Done()
}

// gVisor refuses the host's network under Docker after it has started its
// processes. Validate forbids it; what such a failure leaves goes all the same.
func TestAStartThatFailsHalfwayLeavesNothing(t *testing.T) {
	s := setUp(t, flavours[5])
	broken, err := newContainers(theDocker, s.env.(*gvisor).options.containers())
	if err != nil {
		t.Fatal(err)
	}
	broken.options.Network = "host"
	_, err = broken.Start(t.Context(), environment.Request{Name: "broken", Owner: s.owner, Image: s.image, Limits: limits, Console: &bytes.Buffer{}})
	if err == nil || !strings.Contains(err.Error(), "root network namespace") {
		t.Errorf("gVisor in the host's network gives %v", err)
	}
	if left := s.left(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid := 0
		fmt.Sscan(e.Name(), &pid)
		if line := strings.Join(commandLine(pid), " "); pid > 0 && isHelper(pid) && strings.Contains(line, "tare-"+s.owner.ID()) {
			t.Errorf("process %d still runs: %s", pid, line)
		}
	}
}

func TestACancelledStartLeavesNothing(t *testing.T) {
	try(t, []flavour{flavours[0], flavours[5], flavours[6]}, func(t *testing.T, s *stage) {
		for _, after := range []time.Duration{time.Millisecond, 20 * time.Millisecond, 60 * time.Millisecond, 110 * time.Millisecond, 200 * time.Millisecond} {
			ctx, cancel := context.WithTimeout(t.Context(), after)
			i, err := s.env.Start(ctx, environment.Request{Name: "hasty", Owner: s.owner, Image: s.image, Console: &bytes.Buffer{}})
			cancel()
			if err == nil { // the machine was quick
				err = i.Stop(t.Context())
				if err != nil {
					t.Error(err)
				}
			}
			if left := s.left(t); len(left) > 0 {
				t.Errorf("cut short after %v: left behind: %q", after, left)
			}
		}
	})
}

func TestImagesAreRemovedByTheirDigest(t *testing.T) {
	s := setUp(t, flavours[0])
	const ours = "sha256:a-test's"
	oci, err := mutate.Config(empty.Image, v1.Config{Labels: map[string]string{ImageLabel: ours}})
	if err != nil {
		t.Fatal(err)
	}
	var archive bytes.Buffer
	if err := tarball.Write(name.MustParseReference(repository+":a-test"), oci, &archive); err != nil {
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
	if _, err := s.engine.api.ImageInspect(t.Context(), tagOf(s.image)); err != nil {
		t.Errorf("the image to keep: %v", err)
	}
}
