package bench

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/verdict"
	"tare/internal/workload/parse"
)

func TestFiguresOfACommandDecide(t *testing.T) {
	o := Options{Argv: []string{"true"}, Environments: []string{"native"}, Margin: "2%", Figures: []string{
		`rate=regex:"rate": ([0-9.]+), or ([0-9]{1,3}),unit=op/s,higher`,
	}}
	if _, err := o.Plan(); err == nil || !strings.Contains(err.Error(), "needs exactly one group, around the value, and has 2") {
		t.Error(err)
	}
	o.Figures = []string{`rate=regex:"rate": (?:about )?([0-9.]{1,9}),unit=op/s,higher`, `late=regex:(?i)^LATE[^0-9]+([0-9.]+)$,unit=ms,lower`}
	plan, err := o.Plan()
	if err != nil {
		t.Fatal(err)
	}
	pack := plan.Workloads[0].Pack
	var patterns []*regexp.Regexp
	for _, text := range pack.Parser.Regex {
		patterns = append(patterns, regexp.MustCompile(text))
	}
	values, err := parse.Regex(patterns, []byte("\"rate\": about 12.5,\nlate: 3\n"))
	if err != nil || values["rate"] != 12.5 || values["late"] != 3 {
		t.Errorf("%v, %v", values, err)
	}
	for _, m := range pack.Metrics[:6] {
		if figure := m.Name == "rate" || m.Name == "late"; m.Primary != figure {
			t.Errorf("%+v", m)
		}
	}
	s := Summarize(&run.Result{
		Run:       &rundir.Run{Plan: plan, Trials: []rundir.Trial{{Environment: "native", Metrics: map[string]float64{"wall_seconds": 2, "rate": 1234.5678, "late": 0.25}}}},
		Contrasts: []verdict.Contrast{{Metric: "rate", Primary: true, Environment: "a", Baseline: "b", Verdict: verdict.Inconclusive}},
	})
	var text strings.Builder
	s.Text(&text, 100)
	table, _ := s.CSV()
	page, _ := s.Markdown()
	for _, c := range []struct{ in, want string }{
		{text.String(), "  rate         1235 op/s\n  late         0.2500 ms\n"}, {text.String(), "\nrate: a against b is inconclusive"},
		{string(table), ",runs,rate,rate_low,rate_high,late,late_low,late_high\n"}, {string(table), ",1,1234.5678,,,0.25,,\n"},
		{string(page), "| Peak memory | rate | 95% interval | late | 95% interval |\n"}, {string(page), "| 1235 op/s | — | 0.2500 ms | — |\n"},
	} {
		if !strings.Contains(c.in, c.want) {
			t.Errorf("there is no %q in\n%s", c.want, c.in)
		}
	}
}

func TestAFigureIsAPathOrAColumn(t *testing.T) {
	for _, figure := range []string{
		"a=json:$.runs[?@.name == 'x, y'].rate,unit=op/s,higher", "a=json:runs.0.rate,unit=op/s,higher", "a=csv:total.rate,unit=1,lower",
	} {
		o := Options{Argv: []string{"true"}, Environments: []string{"native"}, Margin: "2%", Figures: []string{figure}}
		plan, err := o.Plan()
		if err != nil {
			t.Errorf("%s: %v", figure, err)
			continue
		}
		_, where, _ := strings.Cut(figure, ":")
		if m := figuresOf(plan.Workloads[0].Pack); len(m) != 1 || !strings.HasPrefix(where, m[0].Field+",unit="+m[0].Unit+",") {
			t.Errorf("%s: %+v", figure, m)
		}
	}
}

func TestABudgetLeavesTheNumberOfRunsAsItIsAsked(t *testing.T) {
	o := Options{Argv: []string{"true"}, Environments: []string{"native", "docker"}, Packages: []string{"coreutils"}, Runs: 3, Budget: time.Minute}
	plan, err := o.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if b := plan.Design.Blocks; !b.Fixed || b.Max != 3 {
		t.Errorf("the blocks are %+v", b)
	}
}
