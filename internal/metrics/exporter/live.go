// Package exporter serves the metrics of a run while it is under way, for
// Prometheus and for people with curl. It hears the events of the run and what
// the samplers see, and ends with the run.
//
// It must not know how a run is executed, and nothing of the run waits for it.
package exporter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tare/internal/metrics"
	"tare/internal/run"
	"tare/internal/sample"
)

// Listener serves the metrics of one run.
type Listener struct {
	version  string
	registry *prometheus.Registry
	socket   net.Listener
	server   *http.Server
	served   chan struct{} // closed when nothing listens any more
	run      atomic.Pointer[opened]
}

type opened struct {
	*metrics.Run
	name string
}

// Listen takes the address and begins to serve.
func Listen(address, version string) (*Listener, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("%s is no address to listen at: it needs HOST:PORT, such as 127.0.0.1:9464", address)
	}
	socket, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("cannot listen at %s: another program does, perhaps another run of tare; choose another port, or 0 for one that is free", address)
	case err != nil:
		return nil, fmt.Errorf("cannot listen at %s: %w; choose an address of this machine, such as 127.0.0.1:9464", address, err)
	}
	l := &Listener{version: version, socket: socket, served: make(chan struct{}), registry: prometheus.NewRegistry()}
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: metrics.Build.Name, Help: metrics.Build.Help,
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	build.Set(1)
	l.registry.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	pages := http.NewServeMux()
	pages.Handle("GET /metrics", promhttp.HandlerFor(l.registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: 4, Timeout: 10 * time.Second,
	}))
	pages.HandleFunc("GET /{$}", l.index)
	l.server = &http.Server{Handler: pages, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 20 * time.Second}
	go func() {
		defer close(l.served)
		l.server.Serve(socket)
	}()
	return l, nil
}

// Address is where it listens, with the port that was found where none was
// chosen.
func (l *Listener) Address() string { return l.socket.Addr().String() }

// Local says that only this machine can reach it.
func (l *Listener) Local() bool {
	tcp, ok := l.socket.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// Close stops serving; answers that have begun are finished.
func (l *Listener) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := l.server.Shutdown(ctx)
	if err != nil {
		err = l.server.Close()
	}
	// A server that is shut down before it has begun closes its socket only then.
	<-l.served
	return err
}

// Hear takes an event of the run.
func (l *Listener) Hear(e run.Event) {
	if e.Kind == run.Opened {
		r := metrics.New(e.Run.Manifest, e.Run.Plan, e.Run.Trials, time.Now)
		r.Enter(metrics.Preparing)
		l.registry.MustRegister(r)
		l.run.Store(&opened{r, e.Run.Manifest.Run})
		return
	}
	r := l.run.Load()
	if r == nil {
		return
	}
	switch e.Kind {
	case run.Waiting:
		r.Enter(metrics.Waiting)
	case run.Trying:
		r.Enter(metrics.Running)
		r.Trying(*e.Slot)
	case run.Tried:
		r.Tried(*e.Trial, e.Contrasts)
	case run.Done:
		r.Enter(metrics.Done)
	}
	switch e.Kind {
	case run.Block, run.Trying, run.Tried:
		r.Progress(e.Progress)
	}
}

// Watch gives who hears what the sampler sees of one more instance.
func (l *Listener) Watch(environment, workload string) func(sample.Reading) {
	if r := l.run.Load(); r != nil {
		return r.Watch(environment, workload)
	}
	return nil
}

// index is for people who look at the address.
func (l *Listener) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, "tare %s\n", l.version)
	if r := l.run.Load(); r != nil {
		fmt.Fprintf(w, "run %s: %s\n", r.name, r)
	} else {
		fmt.Fprintln(w, "no run has been opened yet")
	}
	fmt.Fprintln(w, "\n/metrics   the run as it is now, for Prometheus")
}
