package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/base/lists"
	"tare/internal/serve/index"
	"tare/internal/testing/needs"
)

// checker runs axe-core in a page, where a run is followed after the first news of it, sends
// what it found, and goes to the page that the answer names.
const checker = `addEventListener("DOMContentLoaded", async () => {
  const live = document.querySelector("[data-events]"), connection = document.getElementById("connection");
  while (live && !connection.textContent) await new Promise((r) => setTimeout(r, 50));
  const found = await axe.run();
  const next = await fetch("/test/found", { method: "POST", body: JSON.stringify({
    violations: found.violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => v.id + ": " + v.help + ": " + v.nodes.map((n) => n.html).join(" ")),
    wide: document.documentElement.scrollWidth > innerWidth, text: document.body.innerText }) });
  const path = await next.text();
  if (path) location.replace(path);
});`

// finding is what the checker found in a page.
type finding struct {
	Violations []string
	Wide       bool
	Text       string
}

// checked serves pages with the checker in them, which goes from each to the next. Only the
// last one is ever loaded: when it has been checked.
func checked(t *testing.T, s *Server, axe []byte, paths []string) (*httptest.Server, chan finding) {
	t.Helper()
	done, found := make(chan struct{}), make(chan finding, len(paths))
	mux := http.NewServeMux()
	mux.HandleFunc("/test/axe.js", asset("text/javascript", axe))
	mux.HandleFunc("/test/check.js", asset("text/javascript", []byte(checker)))
	mux.HandleFunc("/test/wait.js", func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-done:
		case <-r.Context().Done():
		}
	})
	mux.HandleFunc("/test/found", func(w http.ResponseWriter, r *http.Request) {
		var one finding
		if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
			t.Error(err)
		}
		found <- one
		if paths = paths[1:]; len(paths) == 0 {
			close(done)
			return
		}
		_, _ = io.WriteString(w, paths[0])
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			s.server.Handler.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		s.server.Handler.ServeHTTP(answer, r)
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.Header().Del("Content-Length")
		w.WriteHeader(answer.Code)
		_, _ = io.WriteString(w, strings.Replace(answer.Body.String(), "</head>", `<script src="/test/axe.js"></script><script src="/test/check.js"></script><script src="/test/wait.js" async></script></head>`, 1))
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return server, found
}

// TestChromiumShowsThePagesToEverybody opens all pages in a real browser, wide and light,
// narrow and dark: nothing serious keeps anybody from reading them, nothing is wider than
// the window, and the console is empty.
func TestChromiumShowsThePagesToEverybody(t *testing.T) {
	needs.Program(t, "chromium")
	axe, err := os.ReadFile("../../web/node_modules/axe-core/axe.min.js")
	if err != nil {
		t.Skipf("needs axe-core: %v; `npm ci` in web/ installs it", err)
	}
	directory, _ := runs(t)
	s := serveRuns(t, "", directory)
	page(t, s.base()+"/")
	id := func(name string) string { return index.Identity(filepath.Join(directory, name)) }
	series := index.Series{Study: "loop", Workload: "loop", Metric: "time", Environment: "docker", Baseline: "native"}
	pages := [][2]string{
		{"list", "/?search=loop"}, {"run", "/runs/" + id("loop-03") + "/"}, {"run under way", "/runs/" + id("loop-now") + "/"},
		{"two runs", "/compare?run=" + id("loop-02") + "&run=" + id("loop-12")}, {"histories", "/history"}, {"history", "/history/of?" + series.Query()},
	}
	for kind, flags := range map[string][]string{
		"wide and light":  {"--window-size=1300,900"},
		"narrow and dark": {"--window-size=500,900", "--blink-settings=preferredColorScheme=0"},
	} {
		t.Run(kind, func(t *testing.T) {
			paths := lists.Map(pages, func(p [2]string) string { return p[1] })
			server, found := checked(t, s, axe, paths)
			browse(t, server.URL+paths[0], flags...)
			for _, p := range pages {
				select {
				case one := <-found:
					if len(one.Violations) > 0 || one.Wide {
						t.Errorf("%s: wider than the window: %v; axe-core found: %q", p[0], one.Wide, one.Violations)
					}
					if p[0] == "run under way" && !strings.Contains(one.Text, "This page follows the run.") {
						t.Errorf("the page does not follow the run:\n%s", one.Text)
					}
				default:
					t.Fatalf("%s was not checked", p[0])
				}
			}
		})
	}
}

// browse opens a page, and returns when the browser has loaded one.
func browse(t *testing.T, url string, flags ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "chromium", append(flags, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--disable-features=NetworkTimeServiceQuerying",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--user-data-dir="+t.TempDir(), "--enable-logging=stderr", "--dump-dom", url)...)
	var logged bytes.Buffer
	cmd.Stderr = &logged
	if err := cmd.Run(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, logged.String())
	}
	for _, line := range strings.Split(logged.String(), "\n") {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the page complains: %s", line)
		}
	}
}
