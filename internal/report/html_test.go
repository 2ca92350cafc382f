package report

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"tare/internal/rundir"
)

func htmlOf(t *testing.T, in Input) string {
	t.Helper()
	var out bytes.Buffer
	if err := HTML(&out, in); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTheSameRunGivesTheSamePage(t *testing.T) {
	first := htmlOf(t, fixture())
	moved := fixture()
	moved.Folder = "somewhere/else"
	if first != htmlOf(t, moved) {
		t.Error("two pages of one run differ, or depend on where the run lies")
	}
	if size := len(first); size > 1e6 {
		t.Errorf("the page of the quick study has %d bytes; a megabyte should do", size)
	}
}

func TestThePageNeedsNothingFromOutside(t *testing.T) {
	page := htmlOf(t, fixture())
	// Names of XML vocabularies, and the address in a library's licence: text,
	// never fetched.
	known := map[string]bool{
		"http://www.w3.org/1999/xhtml": true, "http://www.w3.org/1999/xlink": true, "http://www.w3.org/2000/svg": true,
		"http://www.w3.org/2000/xmlns/": true, "http://www.w3.org/XML/1998/namespace": true,
		"http://www.apache.org/licenses/LICENSE-2.0": true,
	}
	for _, url := range regexp.MustCompile(`https?://[^\s"'<>)]+`).FindAllString(page, -1) {
		if !known[url] && !strings.HasPrefix(url, "http://127.0.0.1") {
			t.Errorf("the page names %s", url)
		}
	}
	if m := regexp.MustCompile(`(?i)<(link|img|iframe|object|embed|base)\b|\bsrc\s*=\s*"|@import|url\(`).FindString(withoutScript(page)); m != "" {
		t.Errorf("the page has %q, which could ask for something outside", m)
	}
	sum := sha256.Sum256([]byte(script))
	if !strings.Contains(page, "script-src &#39;sha256-"+strings.ReplaceAll(base64.StdEncoding.EncodeToString(sum[:]), "+", "&#43;")+"&#39;") {
		t.Error("the page's policy does not allow its own script")
	}
}

func withoutScript(page string) string {
	before, rest, _ := strings.Cut(page, script)
	return before + rest
}

func TestThePageSaysItAllWithoutJavaScript(t *testing.T) {
	page := withoutScript(htmlOf(t, fixture()))
	for what, text := range map[string]string{
		"verdict word":               `<span class="verdict slower">slower</span>`,
		"label beside a verdict":     `slower</span> <span class="label">tcg</span>`,
		"caution about emulation":    "nothing about virtual machines with hardware support",
		"requirement of the skipped": "an OCI runtime that starts here",
		"mend":                       "<code>apt-get install runc</code>",
		"reason of a failed trial":   "unable to connect to 127.0.0.1:8080",
		"reason of a missing figure": "cgroup v1 counts no bytes before a throttle rule exists",
		"command":                    "<code>tare run quick --budget 8m</code>",
		"driver at its level":        "redis-benchmark -h 127.0.0.1 -t get,set -n 100000 -c 200 --csv",
		"seed":                       "<code>1732153500</code>",
		"image":                      "sha256:4f0cbb2c9f4ed8d1a6a0f3f1f9e3f8f7",
		"raw file":                   "raw/block-007/gvisor.nginx/driver.stdout",
	} {
		if !strings.Contains(page, text) {
			t.Errorf("no %s: %q", what, text)
		}
	}
	rows := strings.Count(page, `<div class="mono">raw/`)
	if want := 2 * (len(fixture().Trials) - 4*fixtureBlocks); rows != want {
		t.Errorf("%d raw files are listed, there are %d", rows, want)
	}
}

func TestWhatToolsPrintCannotBecomeMarkup(t *testing.T) {
	in := fixture()
	evil := `</script><script>alert(1)</script><img src=x onerror=alert(2)> "quoted" & 'more'`
	in.Plan.Study = evil
	in.Trials[0].Status, in.Trials[0].Reason = rundir.Failed, evil
	in.Plan.Workloads[6].Levels[0].Name = evil
	for i := range in.Trials {
		if in.Trials[i].Level == "clients=1" {
			in.Trials[i].Level = evil
		}
	}
	page := withoutScript(htmlOf(t, in))
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") {
		t.Error("text from a run became markup")
	}
	_, rest, _ := strings.Cut(page, `<script type="application/json" id="data">`)
	text, _, _ := strings.Cut(rest, "</script>")
	var data map[string]any
	if err := json.Unmarshal([]byte(text), &data); err != nil {
		t.Errorf("the page's data are no JSON: %v", err)
	}
}

// TestChromiumDrawsThePage opens the page in a real browser, wide and narrow,
// light and dark.
func TestChromiumDrawsThePage(t *testing.T) {
	browser, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("needs chromium: it is not installed")
	}
	in := fixture()
	for i := range in.Trials {
		in.Trials[i].Series = map[string][]rundir.Point{"pace": {{Second: 0, Value: 1}, {Second: 1, Value: 3}}}
	}
	page := htmlOf(t, in)
	// A server, and not a file, so that the browser's log shows the page's own
	// requests and would show any other.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			http.NotFound(w, r)
			return
		}
		io.WriteString(w, page)
	}))
	defer server.Close()
	for name, flags := range map[string][]string{
		"wide and light":  {"--window-size=1400,1000"},
		"narrow and dark": {"--window-size=500,900", "--blink-settings=preferredColorScheme=0"},
	} {
		t.Run(name, func(t *testing.T) {
			netlog := filepath.Join(t.TempDir(), "net.json")
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, browser, append(flags, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
				"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
				"--disable-dev-shm-usage", "--disable-features=NetworkTimeServiceQuerying", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--user-data-dir="+t.TempDir(), "--enable-logging=stderr", "--log-net-log="+netlog,
				"--virtual-time-budget=5000", "--dump-dom", server.URL+"/")...)
			var out, log bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &log
			if err := cmd.Run(); err != nil {
				t.Fatalf("chromium: %v\n%s", err, log.String())
			}
			for _, line := range strings.Split(log.String(), "\n") {
				if strings.Contains(line, "CONSOLE") {
					t.Errorf("the page complains: %s", line)
				}
			}
			dom := out.String()
			figures := strings.Count(page, "<figure data-chart=")
			if n := strings.Count(dom, `<figure data-chart=`); n != figures || strings.Contains(dom, `hidden=""><figcaption>`) {
				t.Errorf("%d of %d charts are shown", n, figures)
			}
			m := regexp.MustCompile(`<html[^>]* data-drawn="(\d+)"`).FindStringSubmatch(dom)
			if m == nil || m[1] == "0" {
				t.Fatalf("no chart was drawn: %q", m)
			}
			_, overTime, _ := strings.Cut(dom, `data-chart="series"`)
			if overTime, _, _ = strings.Cut(overTime, "</figure>"); !strings.Contains(overTime, "<svg") {
				t.Error("the figures over time are not drawn")
			}
			if n := strings.Count(dom, `role="img"`) + strings.Count(dom, "aria-label="); n < figures {
				t.Errorf("%d descriptions for %d charts", n, figures)
			}
			requests, err := os.ReadFile(netlog)
			if err != nil {
				t.Fatal(err)
			}
			var all struct {
				Events []struct {
					Params struct{ URL, Initiator string }
				}
			}
			if err := json.Unmarshal(requests, &all); err != nil {
				t.Fatal(err)
			}
			loaded := false
			for _, e := range all.Events {
				loaded = loaded || e.Params.URL == server.URL+"/"
				// What the browser asks for itself has no page as its initiator.
				if strings.HasPrefix(e.Params.Initiator, server.URL) {
					t.Errorf("the page asked for %s", e.Params.URL)
				}
			}
			if !loaded {
				t.Error("the browser's log of requests does not even have the page itself")
			}
		})
	}
}

func TestTheCommittedScriptIsWhatItsSourceGives(t *testing.T) {
	web := filepath.Join("..", "..", "web")
	if _, err := os.Stat(filepath.Join(web, "node_modules", "esbuild")); err != nil {
		t.Skip("needs web/node_modules: run npm ci in web/")
	}
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("needs node: it is not installed")
	}
	assets, err := filepath.Abs("assets")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "build.js", "--check", assets)
	cmd.Dir = web
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s", out)
	}
}
