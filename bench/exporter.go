package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"

	"tare/internal/base/failing"
)

// exporter is the monitoring that the published studies used: the node exporter,
// and a Prometheus that scrapes it, here ten times per second.
type exporter struct{ commands []*exec.Cmd }

// startExporter starts both on free ports. It returns nil and the reason if one of
// them does not start.
func startExporter(ctx context.Context, s *session) (_ *exporter, why string) {
	e := &exporter{}
	if err := failing.Caught(func() { e.start(ctx, s) }); err != nil {
		e.stop()
		return nil, err.Error()
	}
	return e, ""
}

func (e *exporter) start(ctx context.Context, s *session) {
	ports := [2]string{}
	for n := range ports {
		l := failing.Must(net.Listen("tcp", "127.0.0.1:0"))
		ports[n] = l.Addr().String()
		l.Close()
	}
	directory := failing.Must(s.owner.Directory("prometheus"))
	config := fmt.Sprintf("global: {scrape_interval: 100ms, scrape_timeout: 100ms}\nscrape_configs:\n  - job_name: node\n    static_configs: [{targets: [%q]}]\n", ports[0])
	file := filepath.Join(directory, "prometheus.yml")
	failing.If(os.WriteFile(file, []byte(config), 0o644))
	for _, argv := range [][]string{
		{"prometheus-node-exporter", "--web.listen-address=" + ports[0]},
		{"prometheus", "--config.file=" + file, "--storage.tsdb.path=" + filepath.Join(directory, "data"), "--web.listen-address=" + ports[1]},
	} {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		failing.If(cmd.Start())
		e.commands = append(e.commands, cmd)
	}
	for _, address := range ports {
		failing.If(answering(ctx, address))
	}
}

// answering waits until an address accepts connections.
func answering(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("nothing listens at %s: %w", address, err)
		case <-tick.C:
		}
	}
}

func (e *exporter) stop() {
	for _, c := range e.commands {
		c.Process.Kill()
		_ = c.Wait()
	}
}

// share is the CPU time of both during one window, as a share of a core. They also
// run during the windows of tare's sampler, so both sides have the same
// background.
func (e *exporter) share(ctx context.Context) float64 {
	used := func() (sum float64) {
		for _, c := range e.commands {
			sum += failing.Must(failing.Must(procfs.NewProc(c.Process.Pid)).Stat()).CPUTime()
		}
		return sum
	}
	before := used()
	began := time.Now()
	select {
	case <-ctx.Done():
		failing.If(ctx.Err())
	case <-time.After(window):
	}
	return (used() - before) / time.Since(began).Seconds()
}

func ownCPU() time.Duration {
	var r unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &r)
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
