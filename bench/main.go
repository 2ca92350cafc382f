// Command bench measures what tare itself costs, against the aims that it has
// set itself, and prints a Markdown page: docs/benchmarks.md. It runs on an
// otherwise idle machine, as root, with the engines that `make bench` starts.
// Everything that is compared is interleaved in the same session.
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

	"tare/internal/cleanup"
	"tare/internal/doctor"
	"tare/internal/image"

	_ "tare/internal/environment/bubblewrap"
	_ "tare/internal/environment/docker"
	_ "tare/internal/environment/native"
	_ "tare/internal/environment/oci"
	_ "tare/internal/environment/qemu"
)

// row is one line of the table.
type row struct{ what, aim, measured, holds string }

// causes are what is known about why an aim may be missed, by the beginning of
// the row.
var causes = map[string]string{
	"start of an instance as tare times it, against `runsc run`": "tare makes a cgroup and reads its limits back, writes the bundle, and mounts the image read-only below the mount points; by hand a finished bundle on a private, writable copy is started in no cgroup. The difference is some 10 ms.",
	"start of an instance as tare times it, against `runc run`":  "tare's instance is in a group of tare's with its limits, on an overlay, with masked paths and a seccomp profile; by hand it is the bundle that `runc spec` makes, with neither overlay nor seccomp. How much each of these takes was not measured.",
	"start of an instance as tare times it, against `bwrap`":     "by hand it runs in no cgroup, on a root that is mounted already. Joining a group in each hierarchy alone was tried and costs about half a millisecond; the rest of the difference is not isolated.",
	"`tare bench` of one native command":                         "both include fork and exec; what is left is that tare's command runs in a cgroup of its own, and the noise of a shared machine, which the interval shows.",
	"throughput of redis in docker with the sampler":             "the noise of a shared machine leaves the interval wider than the margin.",
	"throughput of nginx in docker with the sampler":             "nginx and wrk keep both cores busy, so what a look takes is taken from one of them: some 0.2 to 0.3% of a core by the sampler's own count, and what it displaces.",
	"CPU of the sampler": "the figure is that of the whole process, with the timers of the Go runtime. A look reads some fifteen files and sockets of an instance at work, each of which the kernel puts together anew.",
}

// session is what all measurements share.
type session struct {
	home  string // of tare, with its images
	tare  string // the program that is measured
	owner *cleanup.Owner
	store *image.Store
	image *image.Image
	pairs int
	log   io.Writer
}

func main() {
	tare := flag.String("tare", "bin/tare", "the program to measure")
	home := flag.String("home", "build/bench", "a home for images and runs")
	out := flag.String("out", "docs/benchmarks.md", "the page to write")
	pairs := flag.Int("pairs", 15, "pairs of each start")
	only := flag.String("only", "", "measure only the parts whose name contains this, and write no page")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *tare, *home, *out, *only, *pairs); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// parts are the measurements, in the order of the page.
var parts = []struct {
	name    string
	measure func(context.Context, *session) ([]row, error)
}{
	{"starts", measureStarts},
	{"own time a trial", measureOwnTime},
	{"hyperfine", measureAgainstHyperfine},
	{"memory", measureMemory},
	{"journal", measureJournal},
	{"fingerprint", measureFingerprint},
	{"sampler", measureSampler},
	{"CPU of the sampler", measureSamplerCPU},
}

func run(ctx context.Context, tare, home, out, only string, pairs int) (err error) {
	s := &session{pairs: pairs, log: os.Stderr}
	if s.tare, err = filepath.Abs(tare); err != nil {
		return err
	}
	if s.home, err = filepath.Abs(home); err != nil {
		return err
	}
	if s.owner, err = cleanup.Open(s.home); err != nil {
		return err
	}
	defer func() { err = joined(err, s.owner.Close()) }()
	if s.store, err = image.Open(filepath.Join(s.home, "images")); err != nil {
		return err
	}
	if s.image, err = s.get(ctx, &image.Recipe{}); err != nil {
		return err
	}
	began := time.Now()
	var rows []row
	for _, p := range parts {
		if !strings.Contains(p.name, only) {
			continue
		}
		fmt.Fprintln(s.log, "measuring", p.name)
		more, err := p.measure(ctx, s)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		rows = append(rows, more...)
	}
	page := s.page(rows, began)
	if only != "" {
		_, err = os.Stdout.Write(page)
		return err
	}
	return os.WriteFile(out, page, 0o644)
}

func (s *session) page(rows []row, began time.Time) []byte {
	var b bytes.Buffer
	m := doctor.Machine()
	fmt.Fprintf(&b, `# Benchmarks

What tare itself costs, as `+"`make bench`"+` measured it on %s. All that is
compared was interleaved in one session; intervals are 95%% Hodges-Lehmann.

| what | aim | measured | holds |
|---|---|---|---|
`, began.UTC().Format("2 January 2006"))
	for _, r := range rows {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.what, r.aim, r.measured, r.holds)
	}
	for _, r := range rows {
		for what, cause := range causes {
			if r.holds != verdict(true) && strings.HasPrefix(r.what, what) {
				fmt.Fprintf(&b, "\nMissed: %s: %s\n", r.what, cause)
			}
		}
	}
	fmt.Fprintf(&b, "\nMachine: %s, %d cores, %s of memory, kernel %s, %s, cgroups %s.\n", m.CPU, m.Cores, m.Memory, m.Kernel, m.Distribution, m.Cgroups)
	for _, f := range doctor.Noise() {
		if f.State != "usable" {
			fmt.Fprintf(&b, "At its end: %s: %s.\n", f.What, f.Reason)
		}
	}
	return b.Bytes()
}

func verdict(holds bool) string {
	if holds {
		return "yes"
	}
	return "**no**"
}

func joined(a, b error) error {
	if a != nil {
		return a
	}
	return b
}
