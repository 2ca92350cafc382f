package report

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"tare/internal/base/term"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
)

// hostile is in every text of an edited run.
const hostile = "\x1b]0;t\x07\x1b[2J\u009b31m\u202e\r\nFORGED | CELL | `y` **b** <img src=x onerror=FORGED> [l](http://FORGED) \"q\"=1\n# FORGED\n"

// Texts that name one of a few things: another one is an error of its own.
var chosen = []string{"status", "state", "order", "better", "kind", "started", "ended", "created", "sha256", "fresh", "family", "drop", "waiting", "memory", "margin", "confidence", "cgroups", "rootfs", "swap", "part"}

// poisoned adds the text to all others of a document: values, and the keys that name
// metrics, environments and the like.
func poisoned(v any, key string, named bool) any {
	switch v := v.(type) {
	case string:
		if v == "" || slices.Contains(chosen, key) || key == "default" || key == "verdict" || regexp.MustCompile(`^[0-9.]+[A-Za-z]*$`).MatchString(v) {
			return v
		}
		return v + hostile
	case []any:
		for i := range v {
			v[i] = poisoned(v[i], key, false)
		}
	case map[string]any:
		out := map[string]any{}
		for k, one := range v {
			if named {
				out[k+hostile] = poisoned(one, "", false)
			} else {
				out[k] = poisoned(one, k, slices.Contains([]string{"environments", "metrics", "missing", "series", "versions", "settings"}, k))
			}
		}
		return out
	}
	return v
}

// hostileRun is the content of a run in which every text is hostile.
func hostileRun(t *testing.T, in model.Input) *rundir.Run {
	t.Helper()
	directory := t.TempDir()
	write := func(name string, values ...any) {
		var lines bytes.Buffer
		for _, value := range values {
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			var document any
			if err := json.Unmarshal(text, &document); err != nil {
				t.Fatal(err)
			}
			if text, err = json.Marshal(poisoned(document, "", false)); err != nil {
				t.Fatal(err)
			}
			lines.Write(append(text, '\n'))
		}
		if err := os.WriteFile(filepath.Join(directory, name), lines.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in.Manifest.Format = rundir.Format
	write("manifest.json", in.Manifest)
	write("plan.json", in.Plan)
	var trials []any
	for _, trial := range slices.Concat(in.Trials, in.Traced) {
		trials = append(trials, trial)
	}
	write("journal.jsonl", trials...)
	r, err := rundir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestHostileTextDoesNothingInAReport(t *testing.T) {
	inputs := map[string]model.Input{"quick": reporttest.Quick(), "ladder": reporttest.Ladder(), "traced": reporttest.Traced()}
	for name, given := range inputs {
		r := hostileRun(t, given)
		contrasts := model.Contrasts(r)
		if name != "traced" && !slices.ContainsFunc(contrasts, func(c verdict.Contrast) bool { return c.N > 0 }) {
			t.Fatalf("%s: nothing is compared", name)
		}
		in := model.Of(r, contrasts)
		for _, f := range Formats {
			if f.Name == "openmetrics" && name != "quick" {
				continue // the trials have no times
			}
			if f.Export != nil && name == "traced" {
				continue // exports have nothing of traced trials
			}
			text, err := written(f, in, model.Options{All: true, Colour: true, Width: 100})
			if err != nil {
				t.Fatalf("%s, %s: %v", name, f.Name, err)
			}
			if f.Name == "parquet" || f.Name == "pdf" || f.Name == "brief" {
				continue // binary
			}
			if f.Name == "text" { // it goes to a terminal
				text = terminal(text)
			}
			checkHarmless(t, name+", "+f.Name, f.Name, text)
		}
	}
}

func terminal(text string) string {
	var out bytes.Buffer
	_, _ = term.NewWriter(&out).Write([]byte(text)) // a buffer takes all
	return out.String()
}

var (
	colours = regexp.MustCompile("\x1b\\[[0-9]*m")
	// No cell ends, no markup begins, and no line begins where the text has its own.
	markup = regexp.MustCompile(`(?m)(^|[^\\])\| CELL|<img|\]\(http|(^|[^\\*])\*\*b|^\s*#? ?FORGED`)
)

func checkHarmless(t *testing.T, where, format, text string) {
	t.Helper()
	// A bibliography has no name of the run.
	if !strings.Contains(text, "FORGED") && format != "bib" && format != "cff" {
		t.Errorf("%s: the text is not in it", where)
	}
	if format == "text" {
		text = colours.ReplaceAllString(text, "")
	}
	for i, r := range text {
		if r != '\n' && (unicode.IsControl(r) && r != '\t' || unicode.Is(unicode.Bidi_Control, r)) {
			t.Errorf("%s: %U in %q", where, r, text[max(0, i-80):min(len(text), i+20)])
			return
		}
	}
	switch format {
	case "text":
		if own := regexp.MustCompile(`(?m)^ {0,3}(# )?FORGED.*`).FindString(text); own != "" {
			t.Errorf("%s: a line of its own: %s", where, own)
		}
	case "md":
		// What is code shows markup as it is; its fence is longer than those in the text.
		text = regexp.MustCompile("`` .*? ``").ReplaceAllString(text, "")
		for _, at := range markup.FindAllStringIndex(text, 5) {
			t.Errorf("%s: %q", where, text[max(0, at[0]-100):at[1]])
		}
	case "html":
		if strings.Contains(reporttest.WithoutScript(text), "<img") {
			t.Errorf("%s: markup", where)
		}
	case "openmetrics":
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "FORGED") || strings.HasPrefix(line, "# FORGED") {
				t.Errorf("%s: a line of its own: %s", where, line)
			}
		}
	}
}
