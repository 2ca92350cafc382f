package latex

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

func contentOf(t *testing.T, files []model.File, err error, name string) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(files, func(f model.File) bool { return f.Name == name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	return string(files[i].Data)
}

func TestATextIsPrintedAndNotObeyed(t *testing.T) {
	for given, want := range map[string]string{
		"a_b":        `a\_b`,
		`\input{x}`:  `\textbackslash{}input\{x\}`,
		"50% & #1":   `50\% \& \#1`,
		"~^$":        `\textasciitilde{}\textasciicircum{}\$`,
		"[x] *":      `{[}x{]} {*}`,
		"a\n%b":      `a\textbackslash{}u000a\%b`,
		"--x":        `-{}-{}x`,
		"é ß µ ×":    `é ß \textmu{} $\times$`,
		"☃":          `\ifdefined\Umathcode ☃\else U+2603\fi{}`,
		"\u202eback": `\textbackslash{}u202eback`,
	} {
		if have := escape(given); have != want {
			t.Errorf("%q is %q, not %q", given, have, want)
		}
	}
}

func TestANumberIsOneOfSiunitxAndAllElseIsText(t *testing.T) {
	for given, want := range map[string]string{"+8.2": "+8.2", "-81.1": "-81.1", "12": "12", "×13.9": `{$\times$13.9}`, "n/a": "{n/a}", "1.2.3": "{1.2.3}", "": "", "-": "{-{}}", `1\x`: `{1\textbackslash{}x}`} {
		if have := number(given); have != want {
			t.Errorf("%q is %q, not %q", given, have, want)
		}
	}
	if have := numbers([]string{"+8.2", "-81.15", `{$\times$1000}`}); have != "S[table-format=+2.2]" {
		t.Error(have)
	}
}

func TestATableHasEachPrimaryContrast(t *testing.T) {
	v := model.New(reporttest.Quick())
	files, err := Write(v)
	for _, c := range v.Contrasts {
		if !c.Primary || c.N == 0 {
			continue
		}
		text := contentOf(t, files, err, "table-"+c.Workload+".tex")
		row := `\quad ` + escape(v.ShownName(c.Environment)) + " & "
		found := false
		for line := range strings.Lines(text) {
			found = found || strings.HasPrefix(line, row) && strings.Contains(line, number(strings.TrimSuffix(model.EstimateText(&c), "%"))+" & "+interval(model.IntervalText(&c))+" & "+string(c.Verdict)+" & ")
		}
		if !found {
			t.Errorf("%s %s %s in %s is not in\n%s", c.Workload, c.Level, c.Metric, c.Environment, text)
		}
	}
}

var cites, keys = regexp.MustCompile(`\\cite\{([^}]*)\}`), regexp.MustCompile(`(?m)^@(?:article|misc)\{(\w+),$`)

func TestWhatTheMethodsCiteIsInTheBibliography(t *testing.T) {
	for name, in := range map[string]model.Input{"quick": reporttest.Quick(), "nodes": reporttest.OnNodes("a", "b", "c"), "ladder": reporttest.Ladder()} {
		v := model.New(in)
		files, err := Write(v)
		text := contentOf(t, files, err, "methods.tex")
		files, err = BibTeX(v)
		bib := contentOf(t, files, err, "references.bib")
		var cited, listed []string
		for _, c := range cites.FindAllStringSubmatch(text, -1) {
			cited = append(cited, strings.Split(c[1], ",")...)
		}
		for _, k := range keys.FindAllStringSubmatch(bib, -1) {
			listed = append(listed, k[1])
		}
		slices.Sort(cited)
		slices.Sort(listed)
		if !slices.Equal(slices.Compact(cited), listed) || len(listed) == 0 {
			t.Errorf("%s: cited %q, listed %q", name, cited, listed)
		}
		if strings.Count(bib, "{") != strings.Count(bib, "}") {
			t.Errorf("%s: braces do not match:\n%s", name, bib)
		}
	}
}

func TestEnvironmentsThatHaveNoRoomBesideEachOtherFollowBelow(t *testing.T) {
	in := reporttest.Quick()
	for _, tables := range []int{1, 4} {
		text := matrix(model.New(in))
		if n := strings.Count(text, `\begin{tabular}`); n != tables {
			t.Errorf("%d tables, not %d", n, tables)
		}
		for _, e := range model.New(in).Compared() {
			if strings.Count(text, "{"+escape(e.Shown)+"}") != 1 {
				t.Errorf("%s is not above its cells in\n%s", e.Shown, text)
			}
		}
		for i := range in.Plan.Environments {
			if e := &in.Plan.Environments[i]; e.Name != in.Plan.Baseline {
				e.Name += strings.Repeat("x", 60)
			}
		}
	}
}

func TestALongWordIsBrokenAfterItsJoints(t *testing.T) {
	for given, want := range map[string]string{
		"requests_per_second":                       `requests\_per\_second`,
		"latency_of_requests_per_second":            `latency\_\allowbreak{}of\_\allowbreak{}requests\_\allowbreak{}per\_\allowbreak{}second`,
		"0123456789abcdef0123456789":                "0" + breakable("123456789abcdef0123456789"),
		"short 0123456789abcdef0123456789 and more": "short 0" + breakable("123456789abcdef0123456789 ") + "and more",
	} {
		if have := running(given); have != want {
			t.Errorf("%s is %s", given, have)
		}
	}
}

func breakable(text string) (out string) {
	for _, r := range text {
		out += `\allowbreak{}` + string(r)
	}
	return out
}
