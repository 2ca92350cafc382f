// Package prometheustest runs a real Prometheus in tests, which scrapes a test's
// exporter or serves existing storage, and promtool.
package prometheustest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/testing/freeport"
	"tare/internal/testing/needs"
)

// timeout of waiting for Prometheus.
const timeout = 60 * time.Second

// Server is a Prometheus.
type Server struct {
	address string
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

// Sample is one series of a query result, with its value.
type Sample struct {
	Labels map[string]string
	Value  float64
}

// Query evaluates an expression at a time; the zero time is now.
func (s *Server) Query(t testing.TB, expression string, at time.Time) []Sample {
	t.Helper()
	form := url.Values{"query": {expression}}
	if !at.IsZero() {
		form.Set("time", strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64))
	}
	var answer struct {
		Status, Error string
		Data          struct {
			Result json.RawMessage
		}
	}
	s.get(t, "/api/v1/query", form, &answer)
	if answer.Status != "success" {
		t.Fatalf("Prometheus rejected %s: %s", expression, answer.Error)
	}
	var vector []struct {
		Metric map[string]string
		Value  [2]any
	}
	if err := json.Unmarshal(answer.Data.Result, &vector); err != nil {
		t.Fatalf("the result of %s is not a vector: %v: %s", expression, err, answer.Data.Result)
	}
	var samples []Sample
	for _, v := range vector {
		value, err := strconv.ParseFloat(fmt.Sprint(v.Value[1]), 64)
		if err != nil {
			t.Fatal(err)
		}
		samples = append(samples, Sample{v.Metric, value})
	}
	return samples
}

// Labels returns the values of a label of a selector in a time range.
func (s *Server) Labels(t testing.TB, label, selector string, from, to time.Time) []string {
	t.Helper()
	var answer struct{ Data []string }
	s.get(t, "/api/v1/label/"+label+"/values", url.Values{"match[]": {selector},
		"start": {strconv.FormatInt(from.Unix(), 10)}, "end": {strconv.FormatInt(to.Unix()+1, 10)}}, &answer)
	return answer.Data
}

func (s *Server) get(t testing.TB, path string, form url.Values, answer any) {
	t.Helper()
	response, err := http.Get("http://" + s.address + path + "?" + form.Encode())
	if err != nil {
		t.Fatalf("%v; stderr of Prometheus: %s", err, s.stderr)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	if err != nil {
		t.Fatalf("%s: %v: %s", path, err, text)
	}
}

// Until repeats a query until enough accepts the result.
func (s *Server) Until(t testing.TB, expression string, enough func([]Sample) bool) []Sample {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	var last []Sample
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); <-tick.C {
		if last = s.Query(t, expression, time.Time{}); enough(last) {
			return last
		}
	}
	t.Fatalf("%s did not have the expected result within %v; the last result was %v", expression, timeout, last)
	return nil
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
