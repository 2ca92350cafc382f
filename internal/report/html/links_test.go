package html

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/subject"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
)

func TestEachFigureLeadsToItsTrialsAndEachTrialToItsOutput(t *testing.T) {
	in := reporttest.Quick()
	page := reporttest.WithoutScript(htmlOf(t, in))
	for _, m := range regexp.MustCompile(` href="#([^"]*)"`).FindAllStringSubmatch(page, -1) {
		if !strings.Contains(page, ` id="`+m[1]+`"`) {
			t.Errorf("a link leads to #%s, which is not there", m[1])
		}
	}
	_, matrix, _ := strings.Cut(page, `<section id="verdicts">`)
	matrix, _, _ = strings.Cut(matrix, "</section>")
	changes := strings.Count(matrix, `class="change"`)
	if links := len(regexp.MustCompile(`<a class="change" href="#b\d+-\d+"`).FindAllString(matrix, -1)); links != changes || links < 20 {
		t.Errorf("%d of %d figures of the matrix lead to their blocks", links, changes)
	}
	trial := 0
	for i, one := range in.Trials {
		if one.Block == 7 && one.Workload == "nginx" && one.Environment == "gvisor" {
			trial = i + 1
		}
	}
	_, blocks, _ := strings.Cut(page, `<h3 id="b7-0">nginx: requests`)
	blocks, _, _ = strings.Cut(blocks, "</table>")
	value := fmt.Sprintf(`<a href="#t%d">%s</a> <span class="ends">−`, trial, model.ShortFigure(in.Trials[trial-1].Metrics["requests"], "requests/s"))
	if !strings.Contains(blocks, value) || strings.Count(blocks, `<th class="n" scope="row">`) != reporttest.QuickBlocks {
		t.Errorf("the blocks of nginx have no %s:\n%s", value, blocks)
	}
	_, row, _ := strings.Cut(page, fmt.Sprintf(`<tr id="t%d">`, trial))
	row, _, _ = strings.Cut(row, "</tr>")
	if want := `<a href="raw/block-007/gvisor.nginx/driver.stdout">driver.stdout</a>`; !strings.Contains(row, want) {
		t.Errorf("the trial has no %s: %s", want, row)
	}
}

func TestARunWithoutItsOutputLinksToNone(t *testing.T) {
	in := reporttest.Quick()
	in.LacksRaw = true
	page := reporttest.WithoutScript(htmlOf(t, in))
	if strings.Contains(page, `href="raw/`) || !strings.Contains(page, `<div class="mono">raw/block-007/gvisor.nginx/driver.stdout`) || !strings.Contains(page, "The output was removed from this run") {
		t.Error("the page links to files that are not there, or does not say so")
	}
}

func TestTheBlocksHaveTheDifferencesThatTheEstimateIsMadeOf(t *testing.T) {
	in := reporttest.Quick()
	v := model.New(in)
	page := htmlOf(t, in)
	for environment, ratios := range v.BlockRatios(subject.Place{Workload: "nginx"}.Of("requests")) {
		for _, r := range ratios {
			if want := `<span class="ends">` + strings.ReplaceAll(typeset(verdict.Change(r.Log)), "+", "&#43;") + `</span>`; !strings.Contains(page, want) {
				t.Errorf("%s, block %d: no %s", environment, r.Block, want)
			}
		}
	}
}

func TestOfManyBlocksTheFirstAreShown(t *testing.T) {
	in := reporttest.Ladder()
	once := in.Trials
	for n := 1; n < 40; n++ {
		for _, trial := range once {
			trial.Block += 15 * n
			in.Trials = append(in.Trials, trial)
		}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	page := htmlOf(t, in)
	if n := strings.Count(page, `<tr><th class="n" scope="row">`); n != mostBlocks || !strings.Contains(page, "100 further blocks: in the list of all trials") {
		t.Errorf("%d rows for 600 blocks", n)
	}
	if n := strings.Count(page, `<tr id="t`); n != len(in.Trials) {
		t.Errorf("%d of %d trials are in the list", n, len(in.Trials))
	}
}

func TestAPathOfARunLeadsNowhereElse(t *testing.T) {
	for path, want := range map[string]string{
		"raw/block-007/gvisor.nginx/driver.stdout":   "raw/block-007/gvisor.nginx/driver.stdout",
		"raw/block-001/vm.redis.c=1/server.stderr.2": "raw/block-001/vm.redis.c=1/server.stderr.2",
		"raw/imported/redis/vm/set 1.json":           "raw/imported/redis/vm/set%201.json",
		"raw/a?b#c%2e%2e/driver":                     "raw/a%3Fb%23c%252e%252e/driver",
		"raw/../manifest.json":                       "",
		"raw/../../etc/passwd":                       "",
		"raw/./a.txt":                                "",
		"raw//a.txt":                                 "",
		"raw":                                        "",
		"raw/":                                       "",
		"":                                           "",
		"/etc/passwd":                                "",
		"//host/raw/a.txt":                           "",
		"plan.json":                                  "",
		"javascript:alert(1)":                        "",
		"javascript:alert(1)//raw/a.txt":             "",
		"file:///etc/passwd":                         "",
		`raw\..\..\a.txt`:                            "",
		"raw/a\nb.txt":                               "",
		"raw/x/page.html":                            "",
		"raw/x/page.HTM":                             "",
		"raw/x/page.html.2":                          "",
		"raw/x/warmup.output":                        "raw/x/warmup.output",
		"raw/x/figure.svg":                           "",
		"raw/x/page.xml":                             "",
	} {
		if got := rawLink(path); got != want {
			t.Errorf("%q leads to %q, want %q", path, got, want)
		}
	}
	in := reporttest.Quick()
	in.Trials[0].Raw = []rundir.Raw{{Name: "driver.stdout", Path: "javascript:alert('raw/a.txt')"}}
	page := reporttest.WithoutScript(htmlOf(t, in))
	if strings.Contains(page, `href="javascript`) || !strings.Contains(page, `<div class="mono">javascript:alert`) {
		t.Error("a hostile path became a link, or is not shown")
	}
}
