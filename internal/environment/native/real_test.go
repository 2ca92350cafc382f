package native

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// bench is what a test with real instances stands on.
type bench struct {
	owner *cleanup.Owner
	image *image.Image
}

func newBench(t *testing.T) *bench {
	t.Helper()
	needs.Root(t)
	testenv.NeedsAgent(t)
	return &bench{testenv.Owner(t, t.TempDir()), testenv.Image(t)}
}

// with are the defaults with this root.
func with(rootfs string) Options {
	o := Defaults()
	o.RootFS = rootfs
	return o
}

// start starts an instance that the test stops.
func (b *bench) start(t *testing.T, options Options, l environment.Limits) environment.Instance {
	t.Helper()
	registration, ok := environment.Lookup("native")
	if !ok {
		t.Fatal("the kind native is not registered")
	}
	testenv.NeedsKind(t, "native", &options)
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

// gone checks that nothing of an instance is left.
func (b *bench) gone(t *testing.T) {
	t.Helper()
	for _, line := range testenv.Left(t.Context(), b.owner.Home(), b.owner.ID()) {
		t.Errorf("left behind: %s", line)
	}
}

func TestAnInstanceRunsInTheImageAndDoesNotWriteToIt(t *testing.T) {
	b := newBench(t)
	limits := environment.Limits{CPUs: 0.5, Memory: 128 * quantity.MiB, PIDs: 64, Cores: []int{0}}
	i := b.start(t, with("image"), limits)
	directory, err := b.image.Directory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	os.Setenv("TARE_TEST_LEAK", "yes")
	t.Cleanup(func() { os.Unsetenv("TARE_TEST_LEAK") })

	testenv.Run(t, i, `echo new > /etc/new && echo y > /var/lib/file && [ ! -e "`+b.owner.Home()+`" ]`)
	if got := testenv.Run(t, i, "touch /usr/file 2>&1 || true"); !strings.Contains(got, "Read-only") {
		t.Errorf("writing below /usr said %q", got)
	}
	for _, path := range []string{"etc/new", "usr/file", "var/lib/file"} {
		if _, err := os.Lstat(filepath.Join(directory, path)); err == nil {
			t.Errorf("%s was written into the image", path)
		}
	}
	if got := testenv.Run(t, i, "env"); strings.Contains(got, "TARE_TEST_LEAK") {
		t.Error("the host's environment reached the instance")
	}
	// The sum of a program's bytes is the image's.
	want, err := exec.Command("sha256sum", filepath.Join(directory, "usr/bin/env")).Output()
	if err != nil {
		t.Fatal(err)
	}
	if got := testenv.Run(t, i, "sha256sum /usr/bin/env"); !strings.HasPrefix(got, strings.Fields(string(want))[0]) {
		t.Errorf("the program's sum is %s, the image's %s", got, want)
	}
	if notes := i.Notes(); len(notes) > 0 {
		t.Errorf("notes: %q", notes)
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	b.gone(t)
}

func TestTheHostsRootIsShownWithoutCreatingADirectoryInIt(t *testing.T) {
	b := newBench(t)
	_, before := os.Lstat("/data")
	i := b.start(t, with("host"), environment.Limits{})
	if got, want := testenv.Run(t, i, "cat /etc/os-release"), readAll(t, "/etc/os-release"); got != want {
		t.Errorf("os-release is %q, the host's is %q", got, want)
	}
	testenv.Run(t, i, "echo x > /data/file")
	if data := readAll(t, filepath.Join(b.owner.Home(), "work", b.owner.ID(), "a-1", "data", "file")); data != "x" {
		t.Errorf("the data directory contains %q", data)
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

func TestAFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	b := newBench(t)
	e, err := (&native{with("image")}), error(nil)
	if err = e.Prepare(t.Context(), b.image, func(string) {}); err != nil {
		t.Fatal(err)
	}
	request := environment.Request{Name: "a-1", Owner: b.owner, Image: b.image, Console: io.Discard}
	request.Limits.Cores = []int{4000}
	if _, err := e.Start(t.Context(), request); err == nil || !strings.Contains(err.Error(), "limiting the cores") {
		t.Errorf("a core that is not there: %v", err)
	}
	b.gone(t)
	request.Limits = environment.Limits{Memory: 64 * quantity.KiB} // too little for any process
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := e.Start(ctx, request); err == nil || !strings.Contains(err.Error(), "starting a-1") {
		t.Errorf("a group without memory: %v", err)
	} else {
		t.Log(err)
	}
	b.gone(t)
}

func TestALimitOfIOOnDataInMemoryIsRefused(t *testing.T) {
	b := newBench(t)
	o := with("image")
	o.Data = "tmpfs"
	e := &native{o}
	if err := e.Prepare(t.Context(), b.image, func(string) {}); err != nil {
		t.Fatal(err)
	}
	request := environment.Request{Name: "a-1", Owner: b.owner, Image: b.image, Console: io.Discard}
	request.Limits.IO.Write = quantity.MiB
	if _, err := e.Start(t.Context(), request); !errors.Is(err, environment.ErrMemoryIO) {
		t.Errorf("the start gives %v", err)
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
	needs.Root(b)
	img := testenv.Image(b)
	o := testenv.Owner(b, b.TempDir())
	e := &native{with("image")}
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
