// Package exporter serves the metrics of a run in progress over HTTP. It receives
// the events of the run and the readings of the samplers, and stops when the run
// ends.
//
// It must not know how a run is executed, and the run never waits for it.
package exporter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"tare/internal/base/crash"
	"tare/internal/metrics"
	"tare/internal/run"
	"tare/internal/subject"
	"tare/internal/usage"
)

// Listener serves the metrics of one run.
type Listener struct {
	version  string
	registry *prometheus.Registry
	socket   net.Listener
	server   *http.Server
	served   chan struct{} // closed when the server has stopped
	run      atomic.Pointer[opened]
}

type opened struct {
	*metrics.Run
	name string
}

// Listen binds the address and starts to serve.
func Listen(address, version string) (*Listener, error) {
	if err := CheckAddress(address); err != nil {
		return nil, fmt.Errorf("%s %w", address, err)
	}
	socket, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("cannot listen on %s: the port is in use, possibly by another run of tare; choose another port, or 0 for a free one", address)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w; choose an address of this machine, such as 127.0.0.1:9464", address, err)
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
	crash.Go(func() {
		defer close(l.served)
		_ = l.server.Serve(socket)
	})
	return l, nil
}

// Address returns the address of the listener, with the actual port if port 0 was
// requested.
func (l *Listener) Address() string { return l.socket.Addr().String() }

// Local reports whether the listener is on the loopback interface, which other
// machines cannot reach.
func (l *Listener) Local() bool {
	tcp, ok := l.socket.Addr().(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// Close stops the server; requests in progress are completed.
func (l *Listener) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	err := l.server.Shutdown(ctx)
	if err != nil {
		err = l.server.Close()
	}
	// If Shutdown runs before Serve has registered the socket, Serve closes it.
	<-l.served
	return err
}

// Update updates the metrics with an event of the run.
func (l *Listener) Update(e run.Event) {
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
		if e.Batch != nil {
			r.Trying(e.Batch...)
		} else {
			r.Trying(*e.Slot)
		}
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

// Watch returns the function that receives the sampler's readings of one more
// instance, or nil before a run is opened.
func (l *Listener) Watch(node string, at subject.Cell) func(usage.Reading) {
	if r := l.run.Load(); r != nil {
		return r.Watch(node, at)
	}
	return nil
}

// index serves the state of the run as text.
func (l *Listener) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	fmt.Fprintf(w, "tare %s\n", l.version)
	if r := l.run.Load(); r != nil {
		fmt.Fprintf(w, "run %s: %s\n", r.name, r)
	} else {
		fmt.Fprintln(w, "no run has been opened yet")
	}
	fmt.Fprintln(w, "\n/metrics   current metrics of the run, for Prometheus")
}

// CheckAddress checks the form of an address.
func CheckAddress(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return errors.New("must be HOST:PORT, such as 127.0.0.1:9464, or :9464 for all addresses")
	}
	return nil
}
