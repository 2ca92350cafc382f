package html

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
	"regexp"
	"strings"
	"testing"
	"time"

	"tare/internal/rundir"
	"tare/internal/testing/needs"
	"tare/internal/testing/reporttest"
)

// TestChromiumUnfoldsWhatALinkLeadsTo follows the links from a figure to its blocks and
// from there to a trial.
func TestChromiumUnfoldsWhatALinkLeadsTo(t *testing.T) {
	needs.Program(t, "chromium")
	file := filepath.Join(t.TempDir(), "report.html")
	if err := os.WriteFile(file, []byte(htmlOf(t, reporttest.Quick())), 0o600); err != nil {
		t.Fatal(err)
	}
	for anchor, folded := range map[string]string{"b7-0": "Block by block: primary metrics of nginx", "t17": "All trials: 528 rows"} {
		dom := browse(t, "file://"+file+"#"+anchor)
		if n := strings.Count(dom, `<details class="long" open="">`); n != 1 || !strings.Contains(dom, `<details class="long" open=""><summary>`+folded) {
			t.Errorf("#%s: %d sections are open, want %q", anchor, n, folded)
		}
	}
}

// browse returns the page as the browser has it in the end.
func browse(t *testing.T, url string, flags ...string) string {
	t.Helper()
	return chromium(t, url, append(flags, "--dump-dom")...)
}

// chromium opens a page, and returns what the browser printed.
func chromium(t *testing.T, url string, flags ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "chromium", append(flags, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-dev-shm-usage", "--disable-features=NetworkTimeServiceQuerying", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--user-data-dir="+t.TempDir(), "--enable-logging=stderr",
		"--virtual-time-budget=5000", url)...)
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

// TestChromiumDrawsThePage opens the page in a real browser, wide and narrow,
// light and dark.
func TestChromiumDrawsThePage(t *testing.T) {
	needs.Program(t, "chromium")
	in := reporttest.Percentiles()
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
			dom := browse(t, server.URL+"/", append(flags, "--log-net-log="+netlog)...)
			figures := strings.Count(page, "<figure data-chart=")
			if n := strings.Count(dom, `<figure data-chart=`); n != figures || strings.Contains(dom, `hidden=""><figcaption>`) {
				t.Errorf("%d of %d charts are shown", n, figures)
			}
			m := regexp.MustCompile(`<html[^>]* data-drawn="(\d+)"`).FindStringSubmatch(dom)
			if m == nil || m[1] == "0" {
				t.Fatalf("no chart was drawn: %q", m)
			}
			for _, chart := range []string{"series", "percentiles", "trials"} {
				_, drawing, _ := strings.Cut(dom, `data-chart="`+chart+`"`)
				if drawing, _, _ = strings.Cut(drawing, "</figure>"); !strings.Contains(drawing, "<svg") {
					t.Errorf("the chart %s is not drawn", chart)
				}
			}
			if n := strings.Count(dom, `role="img"`) + strings.Count(dom, "aria-label="); n < figures {
				t.Errorf("%d descriptions for %d charts", n, figures)
			}
			if strings.Contains(dom, "<g aria-label") {
				t.Error("a part of a chart has a label without a role, which screen readers may drop or read out")
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
