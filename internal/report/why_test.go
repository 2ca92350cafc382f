package report

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/attribution/analysis"
	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// ladderFixture is a run over a ladder from native to docker: the overlay takes
// five percent, the log path twenty, and the engine three more.
func ladderFixture() Input {
	plan := &study.Plan{Format: 1, Study: "nginx: from native to docker", Name: "explain-nginx", Baseline: "native",
		Workloads: []study.Workload{{Name: "nginx", Fresh: "trial", Levels: []study.Level{{}}, Pack: workload.Pack{Name: "nginx", Title: "pages",
			Metrics: []workload.Metric{{Name: "requests_per_second", Unit: "op/s", Better: "higher", Primary: true}, {Name: "latency_p99", Unit: "us", Better: "lower"}}}}},
		Design:  study.Design{Order: "interleaved", Blocks: study.Blocks{Min: 8, Max: 60}, Margin: .02, Confidence: .95, Family: "metric", Drop: "decided"},
		Remarks: []string{"cgroup namespace: engines give none on cgroup v1"}}
	effect, sum, base := map[string]float64{"native": 0}, 0.0, "native"
	plan.Environments = []study.Environment{{Name: "native", Kind: "native", Options: []byte("{}")}}
	for i, p := range []struct {
		part, name, rung string
		cost             float64
	}{
		{"seccomp", "seccomp filter", "01-seccomp", 0},
		{"root", "overlay root", "02-root", math.Log(.95)},
		{"log", "log path through a process of the engine's own", "03-log", math.Log(.8)},
		{analysis.RestPart, "engine and shim of docker", "docker", math.Log(.97)},
	} {
		sum += p.cost
		effect[p.rung] = sum
		plan.Environments = append(plan.Environments, study.Environment{Name: p.rung, Kind: "docker", Options: []byte("{}")})
		plan.Steps = append(plan.Steps, study.Step{Part: p.part, Name: p.name, About: fmt.Sprintf("what part %d does <to it>", i), Environment: p.rung, Base: base})
		base = p.rung
	}
	plan.Steps = append(plan.Steps, study.Step{Name: "all parts", Environment: "docker", Base: "native"})
	in := Input{Plan: plan, Manifest: rundir.Manifest{Run: "explain-nginx-1", Environments: map[string]rundir.EnvironmentFacts{}}}
	rng := rand.New(rand.NewPCG(3, 5))
	for _, e := range plan.Environments {
		in.Manifest.Environments[e.Name] = rundir.EnvironmentFacts{State: environment.Usable}
	}
	for block := 1; block <= 15; block++ {
		for i, e := range plan.Environments {
			rate := 43000 * math.Exp(effect[e.Name]+.004*rng.NormFloat64())
			in.Trials = append(in.Trials, rundir.Trial{Block: block, Position: i + 1, Environment: e.Name, Workload: "nginx", Status: rundir.OK,
				Metrics: map[string]float64{"requests_per_second": rate, "latency_p99": 1e6 / rate}})
		}
	}
	in.Contrasts = verdict.Contrasts(plan, in.Trials, in.Manifest.Environments)
	return in
}

func TestALadderIsShownAsAWaterfallThatFitsTheTerminal(t *testing.T) {
	var out bytes.Buffer
	if err := Why(&out, ladderFixture(), TerminalOptions{Width: 80}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for line := range strings.Lines(text) {
		if w := ansi.StringWidth(strings.TrimRight(line, "\n")); w > 80 {
			t.Errorf("%d columns: %s", w, line)
		}
	}
	for _, want := range []string{
		`Why: nginx: requests per second, higher is better`, `hold for all 4 parts`, `\n  native +4\d\.\dk/s\n`,
		`\+ seccomp filter .* equivalent +░`, `\+ log path thr\S* .*slower, 7\d% +█+`, `= together +-2\d\.\d% .*slower +█+`, `\n  docker +3\d\.\dk/s\n`,
		`The overlay root costs 5\.\d% \[`, `What no part explains \(engine and shim of docker\) costs`, `Unexplained by the named parts: -[23]\.\d% \[`, `Mind: cgroup namespace`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	if t.Log("\n" + text); strings.Contains(text, "latency") {
		t.Error("a metric that nothing is judged by has a waterfall")
	}
}

// A rung is compared with the rung below it, so it has no place in tables of
// comparisons with the baseline.
func TestRungsStandInNoComparisonWithTheBaseline(t *testing.T) {
	in := ladderFixture()
	page := htmlOf(t, in)
	matrix := page[strings.Index(page, `<section id="verdicts">`):strings.Index(page, `<section id="why">`)]
	if strings.Contains(matrix, "01-seccomp") || !strings.Contains(matrix, "docker") {
		t.Error("the matrix has the rungs, or not the end")
	}
	v := newView(in)
	if h := v.headlines(); len(h) != 1 || h[0].Environment != "docker" || !strings.Contains(h[0].Text, "slower in 1 of 1") {
		t.Errorf("%+v", h)
	}
	for _, c := range newChartData(v).Contrasts {
		if e := v.Environments[c.Environment].Name; e != "docker" {
			t.Errorf("a chart compares %s with the baseline", e)
		}
	}
}

func TestThePageHasTheWaterfallWithoutAScript(t *testing.T) {
	page := htmlOf(t, ladderFixture())
	why := page[strings.Index(page, `<section id="why">`):]
	why = why[:strings.Index(why, "</section>")]
	if n := strings.Count(why, `<svg class="fall"`); n != 5 {
		t.Errorf("%d bars, want one a part and one for all", n)
	}
	for _, want := range []string{"engine and shim of docker", "cgroup namespace: engines give none", `title="what part 1 does &lt;to it&gt;"`, `class="slower"`, `class="equivalent light"`} {
		if !strings.Contains(why, want) {
			t.Errorf("the section has no %s:\n%s", want, why)
		}
	}
	if strings.Contains(htmlOf(t, fixture()), `id="why"`) {
		t.Error("a run without steps has the section")
	}
}

// A run that was interrupted before its second end had run shows no figure of it,
// and no line of what has not run.
func TestWhatHasNotRunHasNoFigureAndNoLine(t *testing.T) {
	in := ladderFixture()
	in.Trials = in.Trials[:2] // native and the first rung
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest.Environments)
	var out, document bytes.Buffer
	if err := Why(&out, in, TerminalOptions{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&document, in); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{`\n  docker +no figure\n`, `\n  native +4\d\.\dk/s\n`, `\+ seccomp filter`, `No line stands for 3 of 4 parts`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	_, section, _ := strings.Cut(document.String(), "## Why")
	for _, absent := range []string{" 0/s", " 0 s", "range n/a", "overlay root", "together"} {
		if strings.Contains(text, absent) || strings.Contains(section, "| overlay root") {
			t.Errorf("there is %q in\n%s\n%s", absent, text, section)
		}
	}
	if !strings.Contains(section, "| docker | no figure |") {
		t.Errorf("the document has no line for the second end:\n%s", section)
	}
	if page := htmlOf(t, in); !strings.Contains(page, `<tr class="total"><th scope="row">docker, no figure</th>`) {
		t.Error("the page has no line for the second end")
	}
	in.Trials = nil
	in.Contrasts = verdict.Contrasts(in.Plan, nil, in.Manifest.Environments)
	out.Reset()
	if err := Why(&out, in, TerminalOptions{Width: 80}); err != nil || strings.Contains(out.String(), " 0/s") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

// Without an interval nothing is known of a part: not even that it is not material.
func TestWithoutIntervalsNothingIsSaidOfTheParts(t *testing.T) {
	for _, c := range []struct {
		blocks int
		design study.Blocks
		want   string
	}{
		{4, study.Blocks{Min: 4, Max: 4, Fixed: true}, "Nothing can be said of the parts with 4 blocks: none has an interval, which takes 8."},
		{7, study.Blocks{Min: 7, Max: 7, Fixed: true}, "Nothing can be said of the parts with 7 blocks: none has an interval, which takes 8."},
		{1, study.Blocks{Min: 8, Max: 60}, "Nothing can be said of the parts with 1 block: none has an interval, which takes 10."},
	} {
		in := ladderFixture()
		in.Plan.Design.Blocks = c.design
		in.Trials = in.Trials[:c.blocks*len(in.Plan.Environments)]
		in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest.Environments)
		v := newView(in)
		if got := v.findings(v.Why[0]); got[0] != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestOverSeveralOrdersTheIntervalAndTheSpreadHaveHeadsOfTheirOwn(t *testing.T) {
	in := ladderFixture()
	for i := range in.Plan.Steps {
		step := &in.Plan.Steps[i]
		if step.Part == "" {
			continue
		}
		step.Order = 1
		again := *step
		again.Order = 2
		in.Plan.Steps = append(in.Plan.Steps, again)
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest.Environments)
	var out, document bytes.Buffer
	if err := Why(&out, in, TerminalOptions{Width: 100}); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&document, in); err != nil {
		t.Fatal(err)
	}
	page := htmlOf(t, in)
	if text := out.String(); !regexp.MustCompile(`\n  part +change 95% interval +spread over orders\n  native`).MatchString(text) || strings.Contains(text, "range n/a") {
		t.Errorf("the table has no heads:\n%s", text)
	}
	if want := "| part | change | 95% interval | verdict, share | blocks | spread over orders |\n"; !strings.Contains(document.String(), want) {
		t.Errorf("the document has no %s", want)
	}
	for _, want := range []string{`<th scope="col">95% interval</th>`, `<th scope="col">spread over orders</th>`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %s", want)
		}
	}
}

func TestMarkdownOfALadderIsATable(t *testing.T) {
	var out bytes.Buffer
	if err := Markdown(&out, ladderFixture()); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	section := text[strings.Index(text, "## Why"):]
	rows := 0
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") {
			if rows > 0 {
				break
			}
			continue
		}
		if rows++; strings.Count(line, "|") != 6 {
			t.Errorf("%d bars in %s", strings.Count(line, "|"), line)
		}
	}
	if rows != 9 {
		t.Errorf("%d rows:\n%s", rows, section)
	}
}

func TestAnUnusualSamplingIsToldWithHowItWasMade(t *testing.T) {
	in := fixture()
	if page := htmlOf(t, in); strings.Contains(page, "rate off") {
		t.Error("the usual sampling is told")
	}
	in.Plan.Sampling.Off = true
	var document bytes.Buffer
	if err := Markdown(&document, in); err != nil {
		t.Fatal(err)
	}
	for where, text := range map[string]string{"page": htmlOf(t, in), "document": document.String()} {
		for _, want := range []string{"rate off: one look at the beginning", "rate off: peaks are not seen"} {
			if !strings.Contains(text, want) {
				t.Errorf("the %s has no %q", where, want)
			}
		}
	}
}
