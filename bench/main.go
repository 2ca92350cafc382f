// Command bench measures the overhead of tare itself against its targets, and
// writes docs/explanation/benchmarks.md. Run it on an otherwise idle machine, as root, with
// the engines that `make bench` starts. All comparisons are interleaved in the
// same session.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tare/internal/base/failing"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/image/recipe"
	"tare/internal/linux/kvm"
	"tare/internal/run/doctor"

	_ "tare/internal/agent/program"
	_ "tare/internal/environment/bubblewrap"
	_ "tare/internal/environment/containerd"
	_ "tare/internal/environment/docker"
	_ "tare/internal/environment/gvisor"
	_ "tare/internal/environment/native"
	_ "tare/internal/environment/oci"
	_ "tare/internal/environment/qemu"
)

// row is one line of the table.
type row struct{ what, target, measured, met string }

// causes are the known reasons for a missed target, by the prefix of the row.
var causes = map[string]string{
	"`tare bench` of one native command":             "both include fork and exec; the remaining differences are that tare runs the command in a separate cgroup, and the noise of a shared machine, which the interval shows.",
	"throughput of redis in docker with the sampler": "the interval is wider than the margin, because of the noise of a shared machine.",
	"throughput of nginx in docker with the sampler": "nginx and wrk keep both cores busy, so the CPU time of a reading is missing there: some 0.2 to 0.3% of a core by the sampler's own count, plus its indirect effects.",
	"CPU of the sampler":                             "the value is that of the whole process, including the timers of the Go runtime. A reading of a busy instance reads some fifteen files and sockets, each of which the kernel generates anew.",
}

// session is the state that all measurements share.
type session struct {
	home  string // tare's home, with its images
	tare  string // the measured program
	owner *cleanup.Owner
	store *image.Store
	image *image.Image
	pairs int
	log   io.Writer
}

func main() {
	kvm.ProbeMain()
	tare := flag.String("tare", "bin/tare", "the program to measure")
	home := flag.String("home", "build/bench", "home for images and runs")
	out := flag.String("out", "docs/explanation/benchmarks.md", "the page to write")
	pairs := flag.Int("pairs", 15, "number of pairs for each start")
	only := flag.String("only", "", "measure only the parts whose name contains this, and write no page")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := failing.Caught(func() { run(ctx, *tare, *home, *out, *only, *pairs) }); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// parts are the measurements, in the order of the page.
var parts = []struct {
	name    string
	measure func(context.Context, *session) []row
	madeUp  bool // nothing is started, so that no image is needed
}{
	{"starts", measureStarts, false},
	{"overhead per trial", measureOwnTime, false},
	{"short commands", measureShort, true},
	{"hyperfine", measureAgainstHyperfine, false},
	{"memory", measureMemory, false},
	{"journal", measureJournal, true},
	{"scale", measureScale, true},
	{"fingerprint", measureFingerprint, false},
	{"sampler", measureSampler, false},
	{"CPU of the sampler", measureSamplerCPU, false},
	{"verdicts", measureVerdicts, false},
}

func run(ctx context.Context, tare, home, out, only string, pairs int) {
	s := &session{pairs: pairs, log: os.Stderr}
	s.tare = failing.Must(filepath.Abs(tare))
	s.home = failing.Must(filepath.Abs(home))
	s.owner = failing.Must(cleanup.Open(s.home))
	defer func() { failing.If(s.owner.Close()) }()
	s.store = failing.Must(image.Open(filepath.Join(s.home, "images")))
	began := time.Now()
	var rows []row
	for _, p := range parts {
		if !strings.Contains(p.name, only) {
			continue
		}
		if s.image == nil && !p.madeUp {
			s.image = s.get(ctx, &recipe.Recipe{})
		}
		fmt.Fprintln(s.log, "measuring", p.name)
		if err := failing.Caught(func() { rows = append(rows, p.measure(ctx, s)...) }); err != nil {
			failing.With("%s: %w", p.name, err)
		}
	}
	page := s.page(rows, began)
	if only != "" {
		failing.Must(os.Stdout.Write(page))
		return
	}
	failing.If(os.WriteFile(out, page, 0o644))
}

func (s *session) page(rows []row, began time.Time) []byte {
	var b bytes.Buffer
	m := doctor.Machine()
	fmt.Fprintf(&b, `# Benchmarks

The overhead of tare itself, measured by `+"`make bench`"+` on %s. All comparisons were
interleaved in one session; intervals are 95%% Hodges-Lehmann.

| what | target | measured | met |
|---|---|---|---|
`, began.UTC().Format("2 January 2006"))
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.what, r.target, r.measured, r.met)
	}
	for _, r := range rows {
		for what, cause := range causes {
			if r.met != verdict(true) && strings.HasPrefix(r.what, what) {
				fmt.Fprintf(&b, "\nMissed: %s: %s\n", r.what, cause)
			}
		}
	}
	fmt.Fprintf(&b, "\nMachine: %s, %d cores, %s of memory, kernel %s, %s, cgroups %s.\n", m.CPU, m.Cores, m.Memory, m.Kernel, m.Distribution, m.Cgroups)
	for _, f := range doctor.Noise() {
		if f.State != "usable" {
			fmt.Fprintf(&b, "After the run: %s: %s.\n", f.What, f.Reason)
		}
	}
	return b.Bytes()
}

func verdict(met bool) string {
	if met {
		return "yes"
	}
	return "**no**"
}
