package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/cgroup"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/owner"
	"tare/internal/quantity"
	"tare/internal/sample"
)

// bench is what a test with real instances stands on.
type bench struct {
	owner *owner.Owner
	image *image.Image
}

func newBench(t *testing.T) *bench {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: an instance has a root file system and a cgroup of its own")
	}
	if _, err := exec.LookPath("mmdebstrap"); err != nil {
		t.Skip("needs mmdebstrap: " + err.Error())
	}
	store, err := image.Open(filepath.Join(os.TempDir(), "tare-try-images"))
	if err != nil {
		t.Fatal(err)
	}
	img, err := store.Get(t.Context(), image.Source{Recipe: &image.Recipe{}}, func(line string) { t.Log(line) })
	if err != nil {
		t.Fatal(err)
	}
	o, err := owner.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	})
	return &bench{o, img}
}

// start starts an instance that the test stops.
func (b *bench) start(t *testing.T, options Options, l environment.Limits) environment.Instance {
	t.Helper()
	registration, ok := environment.Lookup("native")
	if !ok {
		t.Fatal("the kind native is not registered")
	}
	if state, findings := environment.Check(t.Context(), "native", &options); state == environment.Missing {
		t.Skipf("needs what native needs: %+v", findings)
	}
	e, err := registration.New(&options)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Prepare(t.Context(), b.image, func(string) {}); err != nil {
		t.Fatal(err)
	}
	i, err := e.Start(t.Context(), environment.Request{Name: "a-1", Owner: b.owner, Image: b.image, Limits: l, Console: io.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	t.Logf("phases %v", i.Phases())
	return i
}

// sh runs a shell command inside and returns what it prints.
func sh(t *testing.T, i environment.Instance, script string) string {
	t.Helper()
	var out bytes.Buffer
	exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"/bin/sh", "-c", script}, Stdout: &out, Stderr: &out})
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	if !exit.OK() {
		t.Errorf("%s: %+v\n%s", script, exit, out.String())
	}
	return strings.TrimSpace(out.String())
}

// gone checks that nothing of an instance is left.
func (b *bench) gone(t *testing.T) {
	t.Helper()
	group, err := cgroup.At(b.owner.Cgroup("a-1"))
	if err != nil {
		t.Fatal(err)
	}
	if group.Exists() {
		t.Error("the cgroup is still there")
	}
	if _, err := os.Lstat(filepath.Join(b.owner.Home(), "work", b.owner.ID(), "a-1")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the instance's folder: %v", err)
	}
	if mounts, _ := os.ReadFile("/proc/self/mountinfo"); strings.Contains(string(mounts), b.owner.ID()) {
		t.Errorf("mounts are left:\n%s", mounts)
	}
}

func TestAnInstanceRunsInTheImageWithItsLimits(t *testing.T) {
	b := newBench(t)
	limits := environment.Limits{CPUs: 0.5, Memory: 128 * quantity.MiB, PIDs: 64, Cores: []int{0}}
	i := b.start(t, Options{RootFS: "image"}, limits)
	folder, err := b.image.Folder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	os.Setenv("TARE_TEST_LEAK", "yes")
	t.Cleanup(func() { os.Unsetenv("TARE_TEST_LEAK") })

	if got := sh(t, i, "nproc"); got != "1" {
		t.Errorf("the instance has %s cores, want 1", got)
	}
	sh(t, i, `echo new > /etc/new && echo x > /data/file && echo y > /var/lib/file && [ -w /tmp ] && [ ! -e /work ] && [ -c /dev/null ] && [ -r /proc/self/stat ]`)
	if got := sh(t, i, "touch /usr/file 2>&1 || true"); !strings.Contains(got, "Read-only") {
		t.Errorf("writing below /usr said %q", got)
	}
	for _, path := range []string{"etc/new", "usr/file", "var/lib/file"} {
		if _, err := os.Lstat(filepath.Join(folder, path)); err == nil {
			t.Errorf("%s was written into the image", path)
		}
	}
	if got := sh(t, i, "env"); strings.Contains(got, "TARE_TEST_LEAK") {
		t.Error("the host's environment reached the instance")
	}
	// The sum of a program's bytes is the image's.
	want, err := exec.Command("sha256sum", filepath.Join(folder, "usr/bin/env")).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := sh(t, i, "sha256sum /usr/bin/env"); !strings.HasPrefix(got, strings.Fields(string(want))[0]) {
		t.Errorf("the program's sum is %s, the image's %s", got, want)
	}
	group, _ := cgroup.At(b.owner.Cgroup("a-1"))
	pids, err := group.PIDs()
	if err != nil || len(pids) == 0 {
		t.Errorf("processes in the group: %v, %v", pids, err)
	}
	for _, note := range i.Notes() {
		t.Logf("note: %s", note)
	}
	s := sample.Start(i.Footprint(), 0)
	sh(t, i, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
	if cpu := s.Stop().CPU(); cpu.Missing != "" || cpu.Value <= 0 {
		t.Errorf("processor time %+v", cpu)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	b.gone(t)
}

func TestStopEndsWhatDetachedItself(t *testing.T) {
	b := newBench(t)
	i := b.start(t, Options{RootFS: "image"}, environment.Limits{})
	sh(t, i, "setsid sleep 1000 >/dev/null 2>&1 </dev/null & setsid sleep 1000 & true")
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	b.gone(t)
	if err := i.Stop(t.Context()); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
}

func TestAnAgentThatIsKilledIsNoticedAndStopRemovesTheRest(t *testing.T) {
	b := newBench(t)
	i := b.start(t, Options{RootFS: "image"}, environment.Limits{})
	p, err := i.Agent().Start(t.Context(), agent.Command{Argv: []string{"sleep", "1000"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(i.Agent().Hello().PID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case <-i.Agent().Done():
	case <-time.After(30 * time.Second):
		t.Fatal("nobody noticed that the agent is gone")
	}
	if i.Agent().Err() == nil {
		t.Error("the agent is gone without a reason")
	}
	if _, err := p.Wait(t.Context()); err == nil {
		t.Error("a command of a dead agent ended well")
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	b.gone(t)
	// On a machine whose init does not wait for orphans it stays as a zombie.
	if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID())); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("the command that the agent had started still runs: %s", stat)
	}
}

func TestTheHostsRootIsShownWithoutAFolderMadeInIt(t *testing.T) {
	b := newBench(t)
	_, before := os.Lstat("/data")
	i := b.start(t, Options{RootFS: "host"}, environment.Limits{})
	if got, want := sh(t, i, "cat /etc/os-release"), readAll(t, "/etc/os-release"); got != want {
		t.Errorf("os-release is %q, the host's is %q", got, want)
	}
	sh(t, i, "echo x > /data/file")
	if data := readAll(t, filepath.Join(b.owner.Home(), "work", b.owner.ID(), "a-1", "data", "file")); data != "x" {
		t.Errorf("the data folder holds %q", data)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if _, after := os.Lstat("/data"); (before == nil) != (after == nil) {
		t.Errorf("/data of the host: before %v, after %v", before, after)
	}
	if _, err := os.Stat("/etc/os-release"); err != nil {
		t.Errorf("the host lost a file: %v", err)
	}
	b.gone(t)
}

func TestAStartThatFailsSaysWhyAndLeavesNothing(t *testing.T) {
	b := newBench(t)
	e, err := (&native{Options{"image"}}), error(nil)
	if err = e.Prepare(t.Context(), b.image, func(string) {}); err != nil {
		t.Fatal(err)
	}
	request := environment.Request{Name: "a-1", Owner: b.owner, Image: b.image, Console: io.Discard}
	request.Limits.Cores = []int{4000}
	if _, err := e.Start(t.Context(), request); err == nil || !strings.Contains(err.Error(), "cores 4000") {
		t.Errorf("a core that is not there: %v", err)
	}
	b.gone(t)
	request.Limits = environment.Limits{Memory: 64 * quantity.KiB} // too little for any process
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if _, err := e.Start(ctx, request); err == nil || !strings.Contains(err.Error(), "native instance a-1") {
		t.Errorf("a group without memory: %v", err)
	} else {
		t.Log(err)
	}
	b.gone(t)
}

func readAll(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(data))
}

func BenchmarkStartAndStop(b *testing.B) {
	store, err := image.Open(filepath.Join(os.TempDir(), "tare-try-images"))
	if err != nil {
		b.Fatal(err)
	}
	img, err := store.Get(b.Context(), image.Source{Recipe: &image.Recipe{}}, nil)
	if err != nil {
		b.Skip("needs an image: ", err)
	}
	o, err := owner.Open(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer o.Close()
	e := &native{Options{"image"}}
	phases := map[string]time.Duration{}
	for b.Loop() {
		i, err := e.Start(b.Context(), environment.Request{Name: "a-1", Owner: o, Image: img, Console: io.Discard})
		if err != nil {
			b.Fatal(err)
		}
		for _, p := range i.Phases() {
			phases[p.Name] += p.Duration
		}
		if err := i.Stop(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	for name, d := range phases {
		b.ReportMetric(float64(d.Milliseconds())/float64(b.N), name+"-ms/op")
	}
}
