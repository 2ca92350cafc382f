// Package prometheustest runs a real Prometheus in tests, which scrapes a test's
// exporter or serves existing storage, and promtool.
package prometheustest

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"tare/internal/testing/freeport"
	"tare/internal/testing/needs"
)

// timeout of waiting for Prometheus.
const timeout = 60 * time.Second

// Server is a Prometheus.
type Server struct {
	address string
	api     v1.API
	stderr  *bytes.Buffer
	exited  chan struct{}
}

// Needs skips a test if Prometheus is not installed.
func Needs(t testing.TB) {
	t.Helper()
	needs.Program(t, "prometheus", "promtool")
}

// Scrape starts a Prometheus that scrapes an address once per second, with the job
// name tare.
func Scrape(t testing.TB, target string) *Server {
	t.Helper()
	return start(t, t.TempDir(), fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s}
scrape_configs:
  - job_name: tare
    static_configs: [{targets: [%q]}]
`, target))
}

// Serve starts a Prometheus on existing storage.
func Serve(t testing.TB, storage string) *Server {
	t.Helper()
	return start(t, storage, "global: {scrape_interval: 1s}\n")
}

func start(t testing.TB, storage, config string) *Server {
	t.Helper()
	Needs(t)
	file := filepath.Join(t.TempDir(), "prometheus.yml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	s := &Server{address: fmt.Sprintf("127.0.0.1:%d", freeport.New(t)), stderr: &bytes.Buffer{}, exited: make(chan struct{})}
	client, err := api.NewClient(api.Config{Address: "http://" + s.address})
	if err != nil {
		t.Fatal(err)
	}
	s.api = v1.NewAPI(client)
	cmd := exec.Command("prometheus", "--config.file="+file, "--storage.tsdb.path="+storage,
		"--storage.tsdb.retention.time=100y", "--web.listen-address="+s.address, "--log.level=warn")
	cmd.Stderr = s.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { cmd.Wait(); close(s.exited) }()
	t.Cleanup(func() { cmd.Process.Signal(syscall.SIGTERM); <-s.exited })
	if !s.ready() {
		t.Fatalf("Prometheus did not start: %s", s.stderr)
	}
	return s
}

// ready waits until Prometheus is ready, and returns false if it exits.
func (s *Server) ready() bool {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); {
		if response, err := http.Get("http://" + s.address + "/-/ready"); err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return true
			}
		}
		select {
		case <-s.exited:
			return false
		case <-tick.C:
		}
	}
	return false
}

// Query evaluates an expression at a time, and returns the values of its series; the zero
// time is now.
func (s *Server) Query(t testing.TB, expression string, at time.Time) (values []float64) {
	t.Helper()
	result, _, _, err := s.api.Query(t.Context(), expression, at)
	if err != nil {
		t.Fatalf("%s: %v; stderr of Prometheus: %s", expression, err, s.stderr)
	}
	series, is := result.(model.Vector)
	if !is {
		t.Fatalf("the result of %s is not a vector: %v", expression, result)
	}
	for _, one := range series {
		values = append(values, float64(one.Value))
	}
	return values
}

// Labels returns the values of a label of a selector in a time range.
func (s *Server) Labels(t testing.TB, label, selector string, from, to time.Time) model.LabelValues {
	t.Helper()
	values, _, _, err := s.api.LabelValues(t.Context(), label, []string{selector}, from, to)
	if err != nil {
		t.Fatalf("the values of %s: %v; stderr of Prometheus: %s", label, err, s.stderr)
	}
	return values
}

// Until repeats a query until enough accepts the result.
func (s *Server) Until(t testing.TB, expression string, enough func([]float64) bool) {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var last []float64
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); <-tick.C {
		if last = s.Query(t, expression, time.Time{}); enough(last) {
			return
		}
	}
	t.Fatalf("%s did not have the expected result within %v; the last result was %v", expression, timeout, last)
}

// Promtool runs promtool with the given stdin, and returns its output.
func Promtool(t testing.TB, input string, args ...string) string {
	t.Helper()
	Needs(t)
	cmd := exec.Command("promtool", args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
