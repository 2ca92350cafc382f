package serve

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tare/internal/parity"
	"tare/internal/rundir"
	"tare/internal/serve/index"
	"tare/internal/testing/reporttest"
)

func TestTheListHasEachRunAndFindsThemByWords(t *testing.T) {
	directory, _ := runs(t)
	s := serveRuns(t, "", directory)
	text := page(t, s.base()+"/")
	for _, want := range []string{"20 runs", ">loop-01</a>", ">loop-18</a>", `class="live">under way<`, "broken is not a run", "a loop <script>"} {
		if !strings.Contains(text, want) {
			t.Errorf("the list lacks %q", want)
		}
	}
	for search, want := range map[string]string{
		"LOOP-03": "1 run with", "docker 6.1 2026-11-02": "1 run with", "6.12 docker": "12 runs with", "100%": "No run has", "loop_0": "No run has",
	} {
		if text := page(t, s.base()+"/?search="+url.QueryEscape(search)); !strings.Contains(text, want) {
			t.Errorf("search for %q: no %q", search, want)
		}
	}
	if response, _ := ask(t, "GET", s.base()+"/?search="+strings.Repeat("x", 201), nil); response.StatusCode != http.StatusBadRequest {
		t.Errorf("a long search: %s", response.Status)
	}
}

func TestARunMarksWhatAConfoundAffects(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "runs")
	for name, workers := range map[string]string{"fair": "1", "unfair": "2"} {
		w := begin(t, directory, name, 1)
		blocks(t, w, 1, 10, .1)
		for environment, value := range map[string]string{"native": "1", "docker": workers} {
			facts := map[string]parity.Fact{"configuration[nginx][worker_processes]": {Value: value, Seen: "inside"}}
			if err := w.KeepFingerprint(parity.Fingerprint{Environment: environment, Workload: "loop", Facts: facts}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := serveRuns(t, "", directory)
	page(t, s.base()+"/") // fills the index
	for _, name := range []string{"fair", "unfair"} {
		text := page(t, s.base()+"/runs/"+index.Identity(filepath.Join(directory, name))+"/")
		if marked := strings.Contains(text, `href="report#parity"`) && strings.Contains(text, "something besides the layer differs (where"); marked != (name == "unfair") {
			t.Errorf("%s: marked is %t:\n%s", name, marked, text)
		}
		for _, want := range []string{`data-label="Baseline">1.01 s<`, `data-label="Value">1.1`, `data-label="Blocks">n=10`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: the page lacks %q:\n%s", name, want, text)
			}
		}
	}
}

func TestARunHasItsStateItsReportAndItsRawOutput(t *testing.T) {
	directory, _ := runs(t)
	s := serveRuns(t, "", directory)
	page(t, s.base()+"/") // fills the index
	run := s.base() + "/runs/" + index.Identity(filepath.Join(directory, "loop-02")) + "/"
	text := page(t, run)
	for _, want := range []string{"10 blocks, 20 trials.", "loop: time", "+5.8%", `<span class="verdict slower">slower`, "1 further contrast"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page of the run lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "data-events") {
		t.Error("a run that has ended is followed")
	}
	response, text := ask(t, "GET", run+"report", nil)
	if policy := response.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "script-src 'sha256-") || response.StatusCode != http.StatusOK {
		t.Errorf("report: %s with policy %q", response.Status, policy)
	}
	if !strings.Contains(text, `<li><a href="`+strings.TrimPrefix(run, s.base())+`">This run</a></li>`) {
		t.Error("the report does not lead back")
	}
	if !strings.Contains(text, "largest part: the bridge (run explain-1).") {
		t.Error("the report does not name the run that explains it")
	}
	if !strings.Contains(text, `href="raw/block-001/docker.loop/driver.stdout"`) {
		t.Error("the report leads to no raw output")
	}
	response, text = ask(t, "GET", run+"raw/block-001/docker.loop/driver.stdout", nil)
	if kind := response.Header.Get("Content-Type"); kind != "text/plain; charset=utf-8" || text != "<script>alert('docker')</script> 1\n" {
		t.Errorf("raw output: %s: %q", kind, text)
	}
}

// runOf makes a run of a plan with the study loop in it, changed, and serves it.
func runOf(t *testing.T, name string, change func(*rundir.Writer)) (s *Server, text string) {
	t.Helper()
	directory := filepath.Join(t.TempDir(), "runs")
	w := begin(t, directory, name, 1)
	change(w)
	w.Manifest.Sessions = []rundir.Session{{Started: w.Manifest.Created, Ended: w.Manifest.Created.Add(time.Minute), Stopped: "the budget is spent"}}
	if err := errors.Join(w.SaveManifest(), w.Close()); err != nil {
		t.Fatal(err)
	}
	s = serveRuns(t, "", directory)
	page(t, s.base()+"/")
	return s, page(t, s.base()+"/runs/"+index.Identity(filepath.Join(directory, name))+"/")
}

func TestARunThatFailedSaysWhy(t *testing.T) {
	_, text := runOf(t, "failed", func(w *rundir.Writer) {
		for block, reason := range []string{"no port", "no port", "<script>alert(1)</script>", "b", "c"} {
			if err := w.Append(rundir.Trial{Block: block + 1, Position: 1, Environment: "docker", Workload: "loop", Status: rundir.Failed, Reason: reason}); err != nil {
				t.Fatal(err)
			}
		}
	})
	for _, want := range []string{`<span class="bad">5 failed</span>`, "<li>2 trials: no port</li>", "<li>1 trial: b</li>", "<li>1 for other reasons"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page of the run lacks %q:\n%s", want, text)
		}
	}
	if _, text := runOf(t, "young", func(*rundir.Writer) {}); !strings.Contains(text, "No trial has finished.") || strings.Contains(text, "<table") {
		t.Errorf("a run without trials has a table:\n%s", text)
	}
}

func TestAContrastWithoutARatioHasItsReasonAndNoHistory(t *testing.T) {
	s, text := runOf(t, "zeros", func(w *rundir.Writer) {
		for block := 1; block <= 10; block++ {
			for i, e := range []string{"native", "docker"} {
				x := 1 + .01*float64(block)
				if e == "docker" && block%3 == 0 {
					x = 0
				}
				if err := w.Append(rundir.Trial{Block: block, Position: i + 1, Environment: e, Workload: "loop", Status: rundir.OK, Metrics: map[string]float64{"time": x}}); err != nil {
					t.Fatal(err)
				}
			}
		}
		w.Manifest.Sessions = []rundir.Session{{Started: w.Manifest.Created, Ended: w.Manifest.Created.Add(time.Minute), Stopped: "all contrasts are settled"}}
		if err := w.SaveManifest(); err != nil {
			t.Fatal(err)
		}
	})
	if !strings.Contains(text, "values of 0 or less have no ratio") || strings.Contains(text, "range [") {
		t.Errorf("the page of the run:\n%s", text)
	}
	series := index.Series{Study: "loop", Workload: "loop", Metric: "time", Environment: "docker", Baseline: "native"}
	if response, _ := ask(t, "GET", s.base()+"/history/of?"+series.Query(), nil); response.StatusCode != http.StatusNotFound {
		t.Errorf("it has a history: %s", response.Status)
	}
}

func TestARunThatWasKilledCanBeContinued(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "runs")
	w := begin(t, directory, "killed", 1)
	w.Manifest.Sessions = []rundir.Session{{Started: w.Manifest.Created}}
	if err := errors.Join(w.SaveManifest(), w.Close()); err != nil {
		t.Fatal(err)
	}
	s := serveRuns(t, "", directory)
	page(t, s.base()+"/")
	text := page(t, s.base()+"/runs/"+index.Identity(filepath.Join(directory, "killed"))+"/")
	if !strings.Contains(text, "<strong>not ended</strong>") || !strings.Contains(text, "<code>--resume</code> continues it") || strings.Contains(text, "data-events") {
		t.Errorf("the page of a run that was killed:\n%s", text)
	}
}

// A history of one run leads nowhere, and the parts of a ladder have none.
func TestOnlyAContrastOfSeveralRunsLeadsToItsHistory(t *testing.T) {
	if _, text := runOf(t, "alone", func(w *rundir.Writer) { blocks(t, w, 1, 8, 0.1) }); strings.Contains(text, "/history/of?") {
		t.Errorf("one run has a history:\n%s", text)
	}
	directory := filepath.Join(t.TempDir(), "runs")
	in := reporttest.Ladder()
	for _, name := range []string{"one", "two"} {
		in.Manifest.Sessions = []rundir.Session{{Started: in.Manifest.Created, Ended: in.Manifest.Created.Add(time.Minute)}}
		w, err := rundir.Create(filepath.Join(directory, name), in.Plan, in.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		for _, trial := range in.Trials {
			trial.Raw = nil
			if err := w.Append(trial); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s := serveRuns(t, "", directory)
	page(t, s.base()+"/")
	text := page(t, s.base()+"/runs/"+index.Identity(filepath.Join(directory, "one"))+"/")
	whole, parts, found := strings.Cut(text, "each part of the ladder against what is before it")
	if !found || strings.Count(parts, "<tr><th scope=\"row\">") != 4 || !strings.Contains(parts, `data-label="Part">seccomp filter`) {
		t.Errorf("the parts are not in a table of their own:\n%s", text)
	}
	links := regexp.MustCompile(`href="(/history/of\?[^"]*)"`).FindAllStringSubmatch(text, -1)
	if len(links) == 0 || strings.Contains(parts, "/history/of?") || strings.Count(whole, "/history/of?") != len(links) {
		t.Errorf("links to histories: %q", links)
	}
	for _, link := range links {
		page(t, s.base()+link[1])
	}
}

func TestALongListHasPages(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "runs")
	for n := range most + 5 {
		if err := begin(t, directory, fmt.Sprintf("loop-%03d", n), 1).Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(directory, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	s := serveRuns(t, "", directory)
	first, last := page(t, s.base()+"/"), page(t, s.base()+"/?page=2")
	if strings.Count(first, "<tr>") != most+1 || !strings.Contains(first, `1 to 100 of 106 runs`) || !strings.Contains(first, `<a href="/?page=2" rel="next">`) || strings.Contains(first, `rel="prev"`) {
		t.Errorf("the first page:\n%s", first)
	}
	if strings.Count(last, "<tr>") != 7 || !strings.Contains(last, "empty is not a run") || !strings.Contains(last, `<a href="/?page=1" rel="prev">`) || strings.Contains(last, `rel="next"`) {
		t.Errorf("the last page:\n%s", last)
	}
	if !strings.Contains(first, `<a href="/?search=unreadable">1 cannot be read</a>`) {
		t.Error("a run that cannot be read is at the end of the list, and the first page does not say so")
	}
	for page, status := range map[string]int{"3": 404, "0": 400, "-1": 400, "x": 400, "99999999999999999999": 400} {
		if response, _ := ask(t, "GET", s.base()+"/?page="+page, nil); response.StatusCode != status {
			t.Errorf("page %s: %s", page, response.Status)
		}
	}
}

// Nothing but the identity of a run and the names in its journal lead to a file.
func TestNoPathOfAClientReachesAFile(t *testing.T) {
	directory, _ := runs(t)
	s := serveRuns(t, "", directory)
	page(t, s.base()+"/")
	id := index.Identity(filepath.Join(directory, "loop-02"))
	for _, path := range []string{
		"/runs/loop-02/", "/runs/..%2f..%2fetc/", "/runs/" + id + "/manifest.json", "/runs/" + id + "/raw/manifest.json",
		"/runs/" + id + "/raw/..%2fmanifest.json", "/runs/" + id + "/raw/%2e%2e/manifest.json", "/runs/" + id + "/raw//etc/passwd",
		"/runs/" + id + "/raw/%2fetc%2fpasswd", "/runs/" + id + "/raw/block-001", "/assets/", "/assets/..%2fserve.go", "/runs/" + index.Identity("/") + "/",
	} {
		response, text := ask(t, "GET", s.base()+path, nil)
		if response.StatusCode == http.StatusOK || strings.Contains(text, "root:") || strings.Contains(text, `"format"`) {
			t.Errorf("%s: %s: %s", path, response.Status, text)
		}
	}
}

func TestTheServerOnlyReadsAndAnswersToItsOwnNames(t *testing.T) {
	directory, _ := runs(t)
	s := serveRuns(t, "", directory)
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		if response, _ := ask(t, method, s.base()+"/", nil); response.StatusCode != http.StatusMethodNotAllowed || response.Header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %s", method, response.Status)
		}
	}
	if response, text := ask(t, "HEAD", s.base()+"/", nil); response.StatusCode != http.StatusOK || text != "" {
		t.Errorf("HEAD: %s", response.Status)
	}
	for host, status := range map[string]int{"evil.example": 421, "evil.example:80": 421, "127.0.0.1.evil.example": 421, "localhost": 200, "LOCALHOST:1": 200, "[::1]:80": 200, "127.0.0.1": 200} {
		if response, text := ask(t, "GET", s.base()+"/", func(r *http.Request) { r.Host = host }); response.StatusCode != status {
			t.Errorf("Host %s: %s: %s", host, response.Status, text)
		}
	}
	for _, path := range []string{"/", "/nowhere", "/assets/serve.css", "/history"} {
		response, _ := ask(t, "GET", s.base()+path, nil)
		if policy := response.Header.Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s has the policy %q", path, policy)
		}
		if response.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: a browser may guess the type", path)
		}
	}
}

func TestATokenIsAskedForAndGoesIntoACookie(t *testing.T) {
	directory, _ := runs(t)
	token := NewToken()
	s := serveRuns(t, token, directory)
	for name, change := range map[string]func(*http.Request){
		"nothing":       nil,
		"a wrong query": func(r *http.Request) { r.URL.RawQuery = "token=" + token[1:] },
		"a wrong one":   func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token+"x") },
		"basic":         func(r *http.Request) { r.SetBasicAuth("tare", token) },
		"a wrong cookie": func(r *http.Request) {
			r.AddCookie(&http.Cookie{Name: cookie, Value: "x"})
		},
	} {
		for _, path := range []string{"/", "/assets/serve.js", "/nowhere"} {
			if response, text := ask(t, "GET", s.base()+path, change); response.StatusCode != http.StatusUnauthorized || strings.Contains(text, "loop") {
				t.Errorf("%s with %s: %s: %s", path, name, response.Status, text)
			}
		}
	}
	if response, _ := ask(t, "GET", s.base()+"/", func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }); response.StatusCode != http.StatusOK {
		t.Errorf("bearer: %s", response.Status)
	}
	response, _ := ask(t, "GET", s.base()+"//evil.example/?search=x&token="+token, nil)
	if to := response.Header.Get("Location"); response.StatusCode != http.StatusSeeOther || to != "/evil.example/?search=x" {
		t.Errorf("the token in the address: %s to %q", response.Status, to)
	}
	kept := response.Cookies()
	if len(kept) != 1 || !kept[0].HttpOnly || kept[0].SameSite != http.SameSiteLaxMode {
		t.Fatalf("cookies %v", kept)
	}
	if response, _ := ask(t, "GET", s.base()+"/", func(r *http.Request) { r.AddCookie(kept[0]) }); response.StatusCode != http.StatusOK {
		t.Errorf("cookie: %s", response.Status)
	}
}

func TestAnotherAddressThanLoopbackNeedsAToken(t *testing.T) {
	if s, err := Listen(Options{Address: ":0"}); err == nil {
		t.Error("it listens for everybody")
		_ = s.Close()
	}
	for address, loopback := range map[string]bool{"127.0.0.1:80": true, "[::1]:0": true, ":80": false, "0.0.0.0:80": false, "192.0.2.1:80": false, "[::]:80": false} {
		if Loopback(address) != loopback {
			t.Errorf("%s: loopback %v", address, !loopback)
		}
	}
	for token, good := range map[string]bool{"": false, "short": false, "0123456789abcde\n": false, "0123456789abcdef": true, NewToken(): true} {
		if err := CheckToken(token); (err == nil) != good {
			t.Errorf("token %q: %v", token, err)
		}
	}
}
