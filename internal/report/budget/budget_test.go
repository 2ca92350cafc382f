package budget

import (
	"encoding/xml"
	"fmt"
	"maps"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
)

// outcomes are those of a budget for the made-up run, a line each.
func outcomes(t *testing.T, text string) string {
	t.Helper()
	rules, err := Parse("b", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	results, err := Check(rules, reporttest.Quick())
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range results {
		lines = append(lines, fmt.Sprintf("%s %s", r.Outcome, r.Subject()))
	}
	return strings.Join(lines, "\n")
}

func TestARuleIsDecidedByTheWholeInterval(t *testing.T) {
	for rule, want := range map[string]string{
		// docker is at 0.925 of native, gvisor at 0.31.
		"nginx requests docker/native >= 0.8":          "met nginx requests docker/native",
		"nginx requests docker/native >= 80%":          "met nginx requests docker/native",
		"nginx requests docker/native >= -20%":         "met nginx requests docker/native",
		"nginx requests gvisor/native >= 0.8":          "broken nginx requests gvisor/native",
		"\ufeffnginx requests docker / native>=−20%\r": "met nginx requests docker/native",
		"nginx requests docker/native ≥ ×0.8":          "met nginx requests docker/native",
		"nginx requests docker/native >= 0.925":        "undecided nginx requests docker/native",
		"nginx requests docker/native <= 0.8":          "broken nginx requests docker/native",
		"nginx requests native/docker >= 1.01":         "met nginx requests native/docker",
		"nginx requests gvisor/docker <= 0.5":          "met nginx requests gvisor/docker",
		"redis clients=1 p99 gvisor <= 100ms":          "met redis clients=1 get_p99 gvisor",
		"redis clients=1 get_p99 gvisor <= 100us":      "broken redis clients=1 get_p99 gvisor",
		"nginx requests native >= 1k/s # as last year": "met nginx requests native",
		"redis clients=50 p99 docker/native <= +100%":  "met redis clients=50 get_p99 docker/native",
		"ready docker <= 10s":                          "met startup ready docker",
		// Every workload and level that has the metric.
		"redis get gvisor/native >= 0.1": "met redis clients=1 get gvisor/native\nmet redis clients=10 get gvisor/native\nmet redis clients=50 get gvisor/native\nmet redis clients=200 get gvisor/native",
		// All values are 0.
		"nginx errors docker <= 1": "met nginx errors docker",
		"nginx errors docker <= 0": "met nginx errors docker",
		"nginx errors docker >= 1": "broken nginx errors docker",
		// It did not work on this machine.
		"nginx requests podman/native >= 0.9": "undecided nginx requests podman/native",
		"nginx requests podman >= 1k/s":       "undecided nginx requests podman",
	} {
		if got := outcomes(t, rule); got != want {
			t.Errorf("%s:\n%s", rule, cmp.Diff(want, got))
		}
	}
}

func TestABoundOutsideOfTheIntervalIsDecidedAndOneInsideIsNot(t *testing.T) {
	in := reporttest.Quick()
	rapid.Check(t, func(t *rapid.T) {
		bound := math.Exp(rapid.Float64Range(-3, 2).Draw(t, "log"))
		sign := rapid.SampledFrom([]string{">=", "<="}).Draw(t, "sign")
		rules, err := Parse("b", fmt.Appendf(nil, "nginx requests gvisor/native %s %v", sign, bound))
		if err != nil {
			t.Fatal(err)
		}
		results, err := Check(rules, in)
		if err != nil {
			t.Fatal(err)
		}
		r := results[0]
		want := Undecided
		if (*r.Low >= bound) == (sign == ">=") && *r.Low != *r.High && (bound <= *r.Low || bound >= *r.High) {
			want = Met
		} else if bound < *r.Low || bound > *r.High {
			want = Broken
		}
		if r.Outcome != want {
			t.Fatalf("%v in [%v, %v] is %s", bound, *r.Low, *r.High, r.Outcome)
		}
	})
}

func TestWhatIsNoRuleIsSaidWithItsLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "b has no rule",
		"nginx requests docker/native":       `b:1: "nginx requests docker/native" is not a rule; write`,
		"\nrequests docker/native > 0.9":     `b:2: ">" in "requests docker/native > 0.9" is not a comparison; write >= or <=`,
		"requests docker/native => 0.9":      `"=>" in`,
		"requests docker/native <= ×10%":     "is not a ratio above 0",
		"docker/native >= 0.9":               "is not a rule",
		"requests docker/ >= 0.9":            "names no two environments",
		"requests docker/docker >= 0.9":      "names no two environments",
		"nginx fast requests docker >= 1":    `"fast" in`,
		"requests docker/native >= fast":     `"fast" is not a ratio above 0`,
		"requests docker/native >= -100%":    "is not a ratio above 0",
		"requests docker/native >= +0.1":     "is not a ratio above 0",
		"requests docker/native >= NaN":      "is not a ratio above 0",
		strings.Repeat("#", int(MaxSize)+1):  "has more than",
		"a b c >= 1 >= 2\nrequests docker >": "b:2: ",
	} {
		if _, err := Parse("b", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// A rule about what is no longer measured would otherwise be kept for ever.
func TestARuleAboutWhatTheRunHasNotIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		"ngin requests docker/native >= 0.9":       `line 1: the run has no "ngin"; it has startup`,
		"redis clients=7 get docker/native >= 0.9": `the run has no "redis clients=7"; it has startup, sysbench-cpu, sysbench-memory, syscalls, fio-randread, fio-randwrite, redis clients=1, redis clients=10, `,
		"nginx request docker/native >= 0.9":       `unknown metric "request"; did you mean "requests"?`,
		"nginx requests dokcer/native >= 0.9":      `unknown environment "dokcer"; did you mean "docker"?`,
		"nginx requests docker/natif >= 0.9":       `unknown environment "natif"`,
		"p99 docker/native >= 0.9":                 "p99 could be any of latency_p99, get_p99: write the whole name",
		"nginx docker/native >= 0.9":               "nginx is a workload: write a metric after it",
		"ngin requests podman/native >= 0.9":       `the run has no "ngin"`,
		"nginx request podman/native >= 0.9":       `unknown metric "request"`,
		"nginx p99 docker <= 5":                    `"5" is not a figure in ms: write it as 1.50 ms`,
	} {
		rules, err := Parse("b", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Check(rules, reporttest.Quick()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

const several = `nginx requests docker/native >= 0.8
nginx p99 docker <= 1ms
redis clients=1 p99 vm <= 100us
nginx requests docker/native >= 92.5%
`

func TestEveryFormatHasEveryRule(t *testing.T) {
	rules, err := Parse("budget, ours.txt", []byte(several))
	if err != nil {
		t.Fatal(err)
	}
	in := reporttest.Quick()
	results, err := Check(rules, in)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range Formats {
		var b strings.Builder
		if err := f.Write(&b, NewSheet(in.Manifest.Run, "budget, ours.txt", results)); err != nil {
			t.Fatal(err)
		}
		reporttest.Golden(t, "check."+f.Name, []byte(b.String()))
	}
}

func TestJUnitIsReadAsItIsWritten(t *testing.T) {
	text, err := os.ReadFile("testdata/check.junit")
	if err != nil {
		t.Fatal(err)
	}
	var suite junitSuite
	if err := xml.Unmarshal(text, &suite); err != nil {
		t.Fatal(err)
	}
	if suite.Tests != 4 || suite.Failures != 2 || suite.Errors != 1 || len(suite.Cases) != 4 || suite.Cases[0].Failure != nil || suite.Cases[1].Failure == nil || suite.Cases[3].Error == nil {
		t.Errorf("%+v", suite)
	}
	if failed := suite.Cases[1].Failure; failed.Message != failed.Text || !strings.HasPrefix(failed.Text, "broken: nginx latency_p99 docker <= 1ms, 5.60 ms [") {
		t.Errorf("%+v", failed)
	}
}

func TestWhatWasMeasuredHasTheNotationOfItsBound(t *testing.T) {
	for bound, want := range map[string]string{
		">= 0.8":  "0.918 [0.900, 0.953]",
		">= 80%":  "91.8% [90.0%, 95.3%]",
		">= -20%": "-8.2% [-10.0%, -4.7%]",
		"<= +5%":  "-8.2% [-10.0%, -4.7%]",
		"<= ×1.1": "×0.918 [×0.900, ×0.953]",
	} {
		rules, err := Parse("b", []byte("nginx requests docker/native "+bound))
		if err != nil {
			t.Fatal(err)
		}
		results, err := Check(rules, reporttest.Quick())
		if err != nil {
			t.Fatal(err)
		}
		if got := results[0].Measured(); got != want {
			t.Errorf("%s: %s", bound, got)
		}
	}
}

// A comment of GitHub has at most 65536 characters.
func TestACommentOnManyRulesStaysShort(t *testing.T) {
	in := reporttest.Quick()
	for text, want := range map[string][]string{
		strings.Repeat("nginx requests docker/native >= 0.8\n", 3000) + "nginx requests docker/native >= 0.99\n": {"**tare: 3000 met, 1 broken, 0 undecided**\n\n| |", "| **broken** |", "<details><summary>3000 met</summary>\n\n| |", " more are not shown.\n\n</details>\n"},
		strings.Repeat("nginx requests docker/native >= 92.5%\n", 3000):                                          {"**tare: 0 met, 0 broken, 3000 undecided**", " more are not shown.\n", "- undecided, line 100: the interval has the bound inside\n", " more are not shown\n"},
	} {
		rules, err := Parse("b", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		results, err := Check(rules, in)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := writeMarkdown(&b, NewSheet("run", "b", results)); err != nil {
			t.Fatal(err)
		}
		if b.Len() > 61_000 {
			t.Errorf("%d characters", b.Len())
		}
		for _, w := range want {
			if !strings.Contains(b.String(), w) {
				t.Errorf("no %q in\n%.600s", w, b.String())
			}
		}
	}
}

func decided(t *testing.T, in model.Input, rule string) Result {
	t.Helper()
	rules, err := Parse("b", []byte(rule))
	if err != nil {
		t.Fatal(err)
	}
	results, err := Check(rules, in)
	if err != nil || len(results) != 1 {
		t.Fatalf("%s: %v, %v", rule, results, err)
	}
	return results[0]
}

func TestWhatWasNotMeasuredHasNoValueAndItsReason(t *testing.T) {
	for _, rule := range []string{"nginx requests podman/native >= 0.9", "nginx requests podman >= 1k/s"} {
		if r := decided(t, reporttest.Quick(), rule); r.Measured() != model.Missing || r.Estimate != nil || !strings.HasPrefix(r.Reason, "podman did not run: ") {
			t.Errorf("%s: %s, %s", rule, r.Measured(), r.Reason)
		}
	}
	in := reporttest.Quick()
	for i, trial := range in.Trials {
		if trial.Workload == "nginx" && trial.Environment == "docker" && trial.Block == 3 {
			in.Trials[i].Metrics = maps.Clone(trial.Metrics)
			in.Trials[i].Metrics["errors"] = 2
		}
	}
	if r := decided(t, in, "nginx errors docker <= 1"); r.Outcome != Undecided || !strings.Contains(r.Reason, "logarithms") {
		t.Errorf("%+v", r)
	}
}

// A step of a ladder is compared with the one before it in the report, and a rule may
// compare it with any.
func TestAStepOfALadderIsComparedWithItsBeginning(t *testing.T) {
	in := reporttest.Ladder()
	for _, e := range in.Plan.Environments[1:] {
		if r := decided(t, in, "nginx requests_per_second "+e.Name+"/"+in.Plan.Baseline+" >= 0.0001"); r.Outcome != Met {
			t.Errorf("%s: %+v", e.Name, r)
		}
	}
}

func TestAConfoundIsSaidWhateverTheBaseline(t *testing.T) {
	in := reporttest.Quick()
	in.Mark = func(all []verdict.Contrast) []verdict.Contrast {
		for i := range all {
			all[i].Warnings = append(all[i].Warnings, verdict.Warning{Code: verdict.Confound})
		}
		return all
	}
	if r := decided(t, in, "nginx requests gvisor/docker <= 0.5"); r.Mark() == "" {
		t.Errorf("%+v", r)
	}
}

func TestAConfoundAndWhatIsNotPairedAreSaid(t *testing.T) {
	rules, err := Parse("b", []byte("nginx requests docker/native >= 0.8"))
	if err != nil {
		t.Fatal(err)
	}
	in := reporttest.Quick()
	for i := range in.Contrasts {
		in.Contrasts[i].Warnings = append(in.Contrasts[i].Warnings, verdict.Warning{Code: verdict.Confound})
	}
	results, err := Check(rules, in)
	if err != nil || results[0].Outcome != Met || !strings.HasSuffix(results[0].Sentence(), "; something besides the layer differs") {
		t.Errorf("%s, %v", results[0].Sentence(), err)
	}
	var b strings.Builder
	if err := writeMarkdown(&b, NewSheet("run", "b", results)); err != nil || !strings.Contains(b.String(), "\n- † something besides the layer differs\n") {
		t.Errorf("%s, %v", b.String(), err)
	}
	for i := range in.Contrasts {
		in.Contrasts[i].Unpaired = true
	}
	results, err = Check(rules, in)
	if err != nil || results[0].Outcome != Undecided || !strings.Contains(results[0].Reason, "not paired") {
		t.Errorf("%+v, %v", results[0], err)
	}
}
