package html

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/needs"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
)

func TestOptionsAreWordsAndTheUsualOnesAreLeftOut(t *testing.T) {
	page := htmlOf(t, reporttest.Quick())
	if !strings.Contains(page, "platform=systrap") || strings.Contains(page, `{&#34;platform`) {
		t.Error("options are not words")
	}
}

func htmlOf(t *testing.T, in model.Input) string {
	t.Helper()
	var page bytes.Buffer
	if err := Write(&page, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func TestTheSameRunGivesTheSamePage(t *testing.T) {
	first := htmlOf(t, reporttest.Quick())
	moved := reporttest.Quick()
	moved.Directory = "somewhere/else"
	if first != htmlOf(t, moved) {
		t.Error("two pages of one run differ, or depend on where the run lies")
	}
	if size := len(first); size > 1e6 {
		t.Errorf("the page of the quick study has %d bytes; a megabyte should do", size)
	}
}

// What grows with the trials are their rows, their blocks and the data of the charts.
func TestThePageIsSmallWithoutTheDataOfItsTrials(t *testing.T) {
	in := reporttest.Quick()
	once := in.Trials
	for n := 1; n < 20; n++ {
		for _, trial := range once {
			trial.Block += reporttest.QuickBlocks * n
			in.Trials = append(in.Trials, trial)
		}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	page := htmlOf(t, in)
	rest := regexp.MustCompile(`(?s)<details class="long">.*?</details>|<script type="application/json".*?</script>`).ReplaceAllString(page, "")
	if len(rest) > 2e6 {
		t.Errorf("%d bytes without the data of %d trials; two megabytes should do", len(rest), len(in.Trials))
	}
	if data := (len(page) - len(rest)) / len(in.Trials); data > 1500 {
		t.Errorf("%d bytes of data for each trial, of about five metrics and two files", data)
	}
	t.Logf("%d bytes, of which %d are the data of %d trials", len(page), len(page)-len(rest), len(in.Trials))
}

func TestThePageLoadsNothingFromOutside(t *testing.T) {
	page := htmlOf(t, reporttest.Quick())
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
	icon := `<link rel="icon" href="data:,">` // an empty one, so that browsers ask for none
	if m := regexp.MustCompile(`(?i)<(link|img|iframe|object|embed|base)\b|\bsrc\s*=\s*"|@import|url\(`).FindString(strings.Replace(reporttest.WithoutScript(page), icon, "", 1)); m != "" {
		t.Errorf("the page has %q, which could ask for something outside", m)
	}
	sum := sha256.Sum256([]byte(script))
	if !strings.Contains(page, "script-src &#39;sha256-"+strings.ReplaceAll(base64.StdEncoding.EncodeToString(sum[:]), "+", "&#43;")+"&#39;") {
		t.Error("the page's policy does not allow its own script")
	}
}

func TestThePageIsCompleteWithoutJavaScript(t *testing.T) {
	page := reporttest.WithoutScript(htmlOf(t, reporttest.Quick()))
	for what, text := range map[string]string{
		"verdict word":               `<span class="verdict slower">slower</span>`,
		"label beside a verdict":     `slower</span> <span class="label">tcg</span>`,
		"caution about emulation":    "say nothing about a virtual machine with KVM",
		"requirement of the skipped": "an OCI runtime that starts here",
		"fix":                        "<code>apt-get install runc</code>",
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
	rows := strings.Count(page, `<div class="mono"><a href="raw/`)
	if want := 2 * (len(reporttest.Quick().Trials) - 4*reporttest.QuickBlocks); rows != want {
		t.Errorf("%d raw files are listed, there are %d", rows, want)
	}
}

func TestNoHeadingSkipsALevel(t *testing.T) {
	for name, in := range map[string]model.Input{"percentiles": reporttest.Percentiles(), "ladder": reporttest.Ladder(), "traced": reporttest.Traced(), "nodes": reporttest.OnNodes("a", "b")} {
		before := byte('0')
		for _, m := range regexp.MustCompile(`<h([1-6])[^>]*>([^<]*)`).FindAllStringSubmatch(reporttest.WithoutScript(htmlOf(t, in)), -1) {
			if m[1][0] > before+1 {
				t.Errorf("%s: the heading %q has level %s after level %c", name, m[2], m[1], before)
			}
			before = m[1][0]
		}
	}
}

func TestOutputOfToolsIsEscaped(t *testing.T) {
	in := reporttest.Quick()
	evil := `</script><script>alert(1)</script><img src=x onerror=alert(2)> "quoted" & 'more'`
	in.Plan.Study = evil
	in.Trials[0].Status, in.Trials[0].Reason = rundir.Failed, evil
	in.Plan.Workloads[6].Levels[0].Name = evil
	for i := range in.Trials {
		if in.Trials[i].Level == "clients=1" {
			in.Trials[i].Level = evil
		}
	}
	page := reporttest.WithoutScript(htmlOf(t, in))
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

func TestTheCommittedScriptIsWhatItsSourceGives(t *testing.T) {
	needs.Program(t, "node")
	web := filepath.Join("..", "..", "..", "web")
	if _, err := os.Stat(filepath.Join(web, "node_modules", "esbuild")); err != nil {
		t.Skip("needs web/node_modules: run npm ci in web/")
	}
	assets, err := filepath.Abs("assets")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", "build.js", "--check", assets)
	cmd.Dir = web
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s", out)
	}
}
