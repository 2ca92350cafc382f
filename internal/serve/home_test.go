package serve

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tare/internal/environment"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/serve/index"
	"tare/internal/study"
	"tare/internal/workload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const steps = 18 // runs of the study loop; docker costs more from the eighth on

// runs makes a directory with runs of a study, one of which is under way until the test
// ends, and one that cannot be read.
func runs(t *testing.T) (directory string, underWay *rundir.Writer) {
	t.Helper()
	directory = filepath.Join(t.TempDir(), "runs")
	for n := 1; n <= steps; n++ {
		cost := 0.05
		if n >= 8 {
			cost = 0.12
		}
		w := begin(t, directory, fmt.Sprintf("loop-%02d", n), n)
		blocks(t, w, 1, 10, cost+0.003*float64(n%4))
		w.Manifest.Sessions = []rundir.Session{{Started: w.Manifest.Created, Ended: w.Manifest.Created.Add(time.Minute), Stopped: "all contrasts are settled"}}
		if err := w.SaveManifest(); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	underWay = begin(t, directory, "loop-now", 20)
	underWay.Manifest.Sessions = []rundir.Session{{Started: underWay.Manifest.Created}}
	if err := underWay.SaveManifest(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = underWay.Close() })
	blocks(t, underWay, 1, 3, 0.12)
	if err := os.MkdirAll(filepath.Join(directory, "broken"), 0o700); err != nil {
		t.Fatal(err)
	}
	return directory, underWay
}

// begin makes a run, with names as anybody may give them.
func begin(t *testing.T, directory, name string, day int) *rundir.Writer {
	t.Helper()
	plan := &study.Plan{
		Format: 1, Study: "a loop <script>alert(1)</script>", Name: "loop", Baseline: "native",
		Environments: []study.Environment{{Name: "native", Kind: "native"}, {Name: "docker", Kind: "docker"}},
		Workloads: []study.Workload{{Name: "loop", Fresh: "block", Levels: []study.Level{{}},
			Pack: workload.Pack{Name: "loop", Metrics: []workload.Metric{{Name: "time", Unit: "s", Better: "lower", Primary: true}, {Name: "memory", Unit: "B", Better: "lower"}}}}},
		Design: study.Design{Order: "interleaved", Blocks: study.Blocks{Min: 8, Max: 10}, Margin: .02, Confidence: .95, Family: "metric"},
	}
	kernel := "6.1"
	if day >= 8 {
		kernel = "6.12"
	}
	w, err := rundir.Create(filepath.Join(directory, name), plan, rundir.Manifest{Run: name, Tare: "test", Created: time.Date(2026, 11, day, 10, 0, 0, 0, time.UTC),
		Machine:      rundir.Machine{CPU: "A <b>CPU</b>", Cores: 8, Kernel: kernel},
		Environments: map[string]rundir.EnvironmentFacts{"native": {State: environment.Usable}, "docker": {State: environment.Usable}}})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// blocks adds blocks from first to last, in which docker costs more by a share.
func blocks(t *testing.T, w *rundir.Writer, first, last int, cost float64) {
	t.Helper()
	for block := first; block <= last; block++ {
		for i, e := range []string{"native", "docker"} {
			trial := rundir.Trial{Block: block, Position: i + 1, Environment: e, Workload: "loop", Status: rundir.OK}
			x := (1 + 0.004*float64((block*7+i*3)%5)) * (1 + cost*float64(i))
			trial.Metrics = map[string]float64{"time": x, "memory": 1e6 * x}
			raw := w.Keep(trial, "driver.stdout")
			fmt.Fprintf(raw, "<script>alert('%s')</script> %d\n", e, block)
			kept, _, err := raw.Close()
			if err != nil {
				t.Fatal(err)
			}
			trial.Raw = []rundir.Raw{kept}
			if err := w.Append(trial); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// serveRuns serves the runs of directories.
func serveRuns(t *testing.T, token string, directories ...string) *Server {
	t.Helper()
	x, err := index.Open("", "test", false, directories...)
	if err != nil {
		t.Fatal(err)
	}
	explained := func(model.Input) []model.Explained {
		return []model.Explained{{Run: "explain-1", Says: "largest part: the bridge"}}
	}
	s, err := Listen(Options{Address: "127.0.0.1:0", Token: token, Version: "test", Explained: explained, Log: func(text string) { t.Error(text) }})
	if err != nil {
		t.Fatal(err)
	}
	s.Begin(x)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *Server) base() string { return "http://" + s.socket.Addr().String() }

// client keeps no connection, and follows no redirect.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// ask sends a request and returns the answer with its text.
func ask(t *testing.T, method, url string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(request)
	}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

// page is the text of a page that has to be there.
func page(t *testing.T, url string) string {
	t.Helper()
	response, text := ask(t, "GET", url, nil)
	if response.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %s", url, response.Status, text)
	}
	if strings.Contains(text, "<script>alert") || strings.Contains(text, "<b>CPU") {
		t.Errorf("%s: a name became part of the page:\n%s", url, text)
	}
	return html.UnescapeString(text)
}
