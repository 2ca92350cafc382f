package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/base/failing"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/image/recipe"
	"tare/internal/stats"
	"tare/internal/usage"
)

// samplerMargin is the margin for the change of throughput by the sampler.
const samplerMargin = 0.005

// driven is a server with a driver that runs for about half a second.
type driven struct {
	name   string
	server []string
	ready  agent.Probe
	driver []string
	rate   *regexp.Regexp // its first group is the throughput
	pairs  int
}

// The two servers with the most system calls per operation, which a sampler that
// reads /proc affects most.
var drivenBy = []driven{
	{"redis", []string{"redis-server", "--bind", "127.0.0.1", "--port", "13379", "--save", "", "--appendonly", "no"},
		agent.Probe{TCP: "127.0.0.1:13379", Timeout: time.Minute},
		[]string{"redis-benchmark", "-p", "13379", "-c", "50", "-t", "get", "-n", "30000", "--csv"},
		regexp.MustCompile(`"GET","([0-9.]+)"`), 300},
	{"nginx", []string{"sh", "-c", `mkdir -p /data/www && head -c 1024 /dev/zero | tr '\0' x > /data/www/index.html &&
		printf 'user root; pid /data/pid; error_log stderr error; events {} http { access_log off; server { listen 127.0.0.1:13080; root /data/www; } }' > /data/nginx.conf &&
		exec nginx -c /data/nginx.conf -g 'daemon off;'`},
		agent.Probe{TCP: "127.0.0.1:13080", Timeout: time.Minute},
		[]string{"wrk", "-t1", "-c16", "-d1s", "http://127.0.0.1:13080/"},
		regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`), 150},
}

// measureSampler compares the throughput with the sampler at its default of ten
// readings per second with that without it, in pairs of random order. Both sides use
// the same instance, since the sampler does not cause differences between
// instances.
func measureSampler(ctx context.Context, s *session) (rows []row) {
	img := s.get(ctx, &recipe.Recipe{Packages: []string{"redis-server", "redis-tools", "nginx-light", "wrk", "netbase"}})
	for _, d := range drivenBy {
		if err := failing.Caught(func() { rows = append(rows, s.watched(ctx, img, d)) }); err != nil {
			failing.With("%s: %w", d.name, err)
		}
	}
	return rows
}

func (s *session) watched(ctx context.Context, img *image.Image, d driven) row {
	i := s.started(ctx, "docker", img, "sampler-"+d.name)
	defer func() { failing.If(i.Stop(ctx)) }()
	failing.Must(i.Agent().Start(ctx, agent.Command{Argv: d.server, Stdout: io.Discard, Stderr: io.Discard}))
	failing.Must(i.Agent().Await(ctx, d.ready))
	rate := func(on bool) float64 {
		if on {
			defer environment.Meter(i, usage.Options{}).Stop()
		}
		var out bytes.Buffer
		exit := failing.Must(i.Agent().Run(ctx, agent.Command{Argv: d.driver, Stdout: &out, Stderr: io.Discard}))
		found := d.rate.FindSubmatch(out.Bytes())
		if !exit.OK() || found == nil {
			failing.With("%s ended with %d and printed %q", d.driver[0], exit.Code, out.Bytes())
		}
		return failing.Must(strconv.ParseFloat(string(found[1]), 64))
	}
	var logs []float64
	for n := -1; n < d.pairs; n++ { // the first pair warms both up
		var rates [2]float64 // off, on
		first := rand.IntN(2)
		for _, side := range []int{first, 1 - first} {
			rates[side] = rate(side == 1)
		}
		if n >= 0 {
			logs = append(logs, math.Log(rates[1]/rates[0]))
		}
	}
	shown, eq := stats.HodgesLehmann(logs, .05), stats.HodgesLehmann(logs, .10)
	margin := math.Log1p(samplerMargin)
	inside := eq.Low > -margin && eq.High < margin
	word := map[bool]string{true: "equivalent", false: "inconclusive"}[inside]
	if !inside && (shown.High < 0 || shown.Low > 0) {
		word = map[bool]string{true: "slower", false: "faster"}[shown.High < 0]
	}
	return row{fmt.Sprintf("throughput of %s in docker with the sampler at 10 Hz vs without", d.name), "equivalent within ±0.5%",
		fmt.Sprintf("%s: %+.2f%% [%+.2f, %+.2f], for equivalence [%+.2f, %+.2f]; %d pairs in one instance", word,
			100*math.Expm1(shown.Estimate), 100*math.Expm1(shown.Low), 100*math.Expm1(shown.High), 100*math.Expm1(eq.Low), 100*math.Expm1(eq.High), d.pairs), verdict(inside)}
}

// started starts one instance of a kind with its default options.
func (s *session) started(ctx context.Context, kind string, img *image.Image, name string) environment.Instance {
	env, missing := s.environment(ctx, kind, "{}", img)
	if missing != "" {
		failing.If(errors.New(missing))
	}
	return failing.Must(env.Start(ctx, environment.Request{Name: name, Owner: s.owner, Image: img, Console: io.Discard}))
}

// environment prepares an environment of a kind with these options, or returns what
// it lacks on this machine.
func (s *session) environment(ctx context.Context, kind, with string, img *image.Image) (_ environment.Environment, missing string) {
	registration, _ := environment.Lookup(kind)
	options := registration.Options()
	failing.If(json.Unmarshal([]byte(with), options))
	if state, findings := environment.Check(ctx, kind, options); state == environment.Missing {
		return nil, findings[len(findings)-1].Reason
	}
	env := failing.Must(registration.New(options))
	failing.If(env.Prepare(ctx, img, func(line string) { fmt.Fprintln(s.log, line) }))
	return env, ""
}

// environments is the number of environments for which the overhead of the sampler
// is measured.
const environments = 10

// window is the duration of one measurement of each side, and windows their number.
const (
	window  = 10 * time.Second
	windows = 6
)

// measureSamplerCPU measures the CPU use of the sampler for ten environments with
// busy servers, alternating with that of the node exporter and Prometheus at the
// same rate.
func measureSamplerCPU(ctx context.Context, s *session) []row {
	img := s.get(ctx, &recipe.Recipe{Packages: []string{"redis-server", "redis-tools", "nginx-light", "wrk", "netbase"}})
	var instances []environment.Instance
	defer func() {
		var err error
		for _, i := range instances {
			err = errors.Join(err, i.Stop(context.WithoutCancel(ctx)))
		}
		failing.If(err)
	}()
	for n := range environments {
		i := s.started(ctx, "docker", img, fmt.Sprintf("sampled-%d", n))
		instances = append(instances, i)
		// A server with ten requests per second. Its output is discarded in the
		// instance, since this process would have to read it.
		failing.Must(i.Agent().Start(ctx, agent.Command{Argv: []string{"sh", "-c", "redis-server --save '' > /dev/null & exec redis-cli -r -1 -i 0.1 --no-raw ping > /dev/null"}, Stdout: io.Discard, Stderr: io.Discard}))
	}
	exporter, why := startExporter(ctx, s)
	if exporter != nil {
		defer exporter.stop()
	}
	var ours, theirs, atEnds []float64
	for range windows {
		share, ends := samplerShare(ctx, instances)
		ours, atEnds = append(ours, share), append(atEnds, ends.Seconds()*1e3)
		if exporter != nil {
			theirs = append(theirs, exporter.share(ctx))
		}
	}
	percent := func(shares []float64) string {
		return fmt.Sprintf("%.2f%% of a core (%.2f to %.2f over %d windows of %v)", 100*stats.Median(shares), 100*slices.Min(shares), 100*slices.Max(shares), len(shares), window)
	}
	comparison := "the node exporter and Prometheus could not be started: " + why
	if exporter != nil {
		comparison = "for comparison, the node exporter and a Prometheus that scrapes it at the same rate: " + percent(theirs)
	}
	return []row{{fmt.Sprintf("CPU of the sampler, %d environments at 10 Hz", environments), "< 0.5% of a core",
		fmt.Sprintf("%s, and %.0f ms in total for the first and the last reading of a trial; %s", percent(ours), stats.Median(atEnds), comparison), verdict(stats.Median(ours) < .005)}}
}

// samplerShare is the CPU time of this process while only the sampler runs in it, as
// a share of the time between its first and its last reading. The CPU time of these
// two readings is returned separately: they read every process of the machine, once
// per trial and outside the measured interval.
func samplerShare(ctx context.Context, instances []environment.Instance) (share float64, ends time.Duration) {
	before := ownCPU()
	unobserved := func(int) func(usage.Reading) { return nil }
	meters, _ := environment.Meters(instances, usage.Options{}, unobserved) // as a trial does
	first, began := ownCPU(), time.Now()
	select {
	case <-ctx.Done():
	case <-time.After(window):
	}
	last, took := ownCPU(), time.Since(began)
	for _, m := range meters {
		m.Stop()
	}
	failing.If(ctx.Err())
	return (last - first).Seconds() / took.Seconds(), ownCPU() - last + first - before
}

// get returns an image of the session's store, and builds it if necessary.
func (s *session) get(ctx context.Context, r *recipe.Recipe) *image.Image {
	return failing.Must(s.store.Get(ctx, image.Source{Recipe: r}, func(line string) { fmt.Fprintln(s.log, "image:", strings.TrimSpace(line)) }))
}
