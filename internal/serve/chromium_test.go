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

	"tare/internal/serve/index"
	"tare/internal/testing/needs"
)

// checker runs axe-core in a page, where a run is followed after the first news of it, and
// sends what it found.
const checker = `addEventListener("DOMContentLoaded", async () => {
  const live = document.querySelector("[data-events]"), connection = document.getElementById("connection");
  while (live && !connection.textContent) await new Promise((r) => setTimeout(r, 50));
  const found = await axe.run();
  await fetch("/test/found?wide=" + (document.documentElement.scrollWidth > innerWidth ? 1 : 0), { method: "POST", body: JSON.stringify(
    found.violations.filter((v) => v.impact === "serious" || v.impact === "critical").map((v) => v.id + ": " + v.help + ": " + v.nodes.map((n) => n.html).join(" "))) });
});`

// checked serves pages with the checker in them. The pages are as loaded when they have
// been checked.
func checked(t *testing.T, s *Server, axe []byte) (*httptest.Server, chan string) {
	t.Helper()
	done, found := make(chan struct{}, 1), make(chan string, 1)
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
		text, _ := io.ReadAll(r.Body)
		if r.URL.Query().Get("wide") == "1" {
			text = append(text, " the page is wider than the window"...)
		}
		found <- string(text)
		done <- struct{}{}
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

// TestChromiumShowsThePagesToEverybody opens each page in a real browser, wide and light,
// narrow and dark: nothing serious keeps anybody from reading it, nothing is wider than
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
	server, found := checked(t, s, axe)
	id := func(name string) string { return index.Identity(filepath.Join(directory, name)) }
	series := index.Series{Study: "loop", Workload: "loop", Metric: "time", Environment: "docker", Baseline: "native"}
	for name, path := range map[string]string{
		"list": "/?search=loop", "run": "/runs/" + id("loop-03") + "/", "run under way": "/runs/" + id("loop-now") + "/",
		"two runs": "/compare?run=" + id("loop-02") + "&run=" + id("loop-12"), "histories": "/history", "history": "/history/of?" + series.Query(),
	} {
		for kind, flags := range map[string][]string{
			"wide and light":  {"--window-size=1300,900"},
			"narrow and dark": {"--window-size=500,900", "--blink-settings=preferredColorScheme=0"},
		} {
			t.Run(name+", "+kind, func(t *testing.T) {
				dom := browse(t, server.URL+path, flags...)
				select {
				case text := <-found:
					if text != "[]" {
						var list []string
						_ = json.Unmarshal([]byte(text), &list)
						t.Errorf("axe-core found: %s %q", text, list)
					}
				default:
					t.Error("the page was not checked")
				}
				if name == "run under way" && !strings.Contains(dom, "This page follows the run.") {
					t.Errorf("the page does not follow the run:\n%s", dom)
				}
			})
		}
	}
}

// browse returns the page as the browser has it when it is loaded.
func browse(t *testing.T, url string, flags ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "chromium", append(flags, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--disable-features=NetworkTimeServiceQuerying",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--user-data-dir="+t.TempDir(), "--enable-logging=stderr", "--dump-dom", url)...)
	var out, logged bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &logged
	if err := cmd.Run(); err != nil {
		t.Fatalf("chromium: %v\n%s", err, logged.String())
	}
	for _, line := range strings.Split(logged.String(), "\n") {
		if strings.Contains(line, "CONSOLE") {
			t.Errorf("the page complains: %s", line)
		}
	}
	return out.String()
}
