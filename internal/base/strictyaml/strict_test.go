package strictyaml

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/base/quantity"
)

type inner struct {
	Size  quantity.Bytes `yaml:"size"`
	Every time.Duration  `json:"every,omitempty"`
}

type outer struct {
	Name   string `yaml:"name"`
	inner  `yaml:",inline"`
	Ratio  *float64          `yaml:"ratio"`
	Counts []int             `yaml:"counts"`
	Words  map[string]string `yaml:"words"`
	Mode   uint32            `yaml:"mode"`
	On     bool              `yaml:"on"`
	Parts  []inner           `yaml:"parts"`
}

func read(t *testing.T, text string) (outer, string) {
	t.Helper()
	var problems Problems
	o := outer{Name: "kept"}
	root, err := Parse("f.yaml", []byte(text), &problems)
	if err != nil {
		return o, err.Error()
	}
	root.Decode(&o)
	if err := problems.Err(); err != nil {
		return o, err.Error()
	}
	return o, ""
}

func TestValuesAreDecodedByTheirType(t *testing.T) {
	got, problems := read(t, `
size: 512MiB
every: 1m30s
ratio: 2
counts: [1, 2]
words: {a: 1.50, b: "no", c: no}
mode: 0644
on: true
parts: [{size: 5}, {every: 5ms}]
`)
	ratio := 2.0
	want := outer{Name: "kept", inner: inner{512 << 20, 90 * time.Second}, Ratio: &ratio, Counts: []int{1, 2},
		Words: map[string]string{"a": "1.50", "b": "no", "c": "no"}, Mode: 0o644, On: true,
		Parts: []inner{{Size: 5}, {Every: 5 * time.Millisecond}}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(outer{}, inner{})); d != "" || problems != "" {
		t.Errorf("%s\n%s", problems, d)
	}
}

func TestAnchorsAndMergedMappingsAreFollowed(t *testing.T) {
	got, problems := read(t, "parts: [&a {size: 5, every: 1s}, *a, {<<: *a, size: 6}]\n")
	want := []inner{{5, time.Second}, {5, time.Second}, {6, time.Second}}
	if d := cmp.Diff(want, got.Parts); d != "" || problems != "" {
		t.Errorf("%s\n%s", problems, d)
	}
	if _, problems = read(t, "words: *nowhere\n"); !strings.Contains(problems, "f.yaml:1") {
		t.Errorf("an alias of nothing gave %q", problems)
	}
}

func TestEveryProblemIsListedInTheOrderOfTheDocument(t *testing.T) {
	_, problems := read(t, `
nmae: x
counts: [1, two, 3.5]
on: yes
parts:
  - sise: 3
    every: -3s
mode: -1
ratio: [1]
words: text
`)
	want := `f.yaml:2:1: unknown key "nmae"; did you mean "name"? (known: name, size, every, ratio, counts, words, mode, on, parts)
f.yaml:3:13: expected a whole number, found "two"
f.yaml:3:18: expected a whole number, found "3.5"
f.yaml:4:5: expected true or false, found "yes"
f.yaml:6:5: unknown key "sise"; did you mean "size"? (known: size, every)
f.yaml:7:12: "-3s" is not a duration: write a number with ms, s, m or h, such as 30s or 5m
f.yaml:8:7: expected a whole number that is not negative, found "-1"
f.yaml:9:8: expected a number, found a list
f.yaml:10:8: expected a mapping (key: value), found "text"`
	if d := cmp.Diff(want, problems); d != "" {
		t.Error(d)
	}
}

func TestAWordIsOnlyGuessedWhenItIsNear(t *testing.T) {
	for word, want := range map[string]string{"redsi": "redis", "Redis": "redis", "rediss": "redis", "nginx": "", "rd": "", "memroy": "memory"} {
		if got := Nearest(word, []string{"redis", "memory", "x"}); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add("name: x\nparts: [&a {size: 5}, *a, {<<: *a}]\n")
	f.Add("counts: &c [*c]\nwords: {<<: &d {<<: *d}}\n")
	f.Fuzz(func(t *testing.T, text string) { read(t, text) })
}

func TestProblemsOfAComposedDocumentNameTheOrigin(t *testing.T) {
	var problems Problems
	root := Compose([]Entry{
		{Key: "name", Value: "<kept>"},
		{Key: "size", Value: "1GiB"},
		{Key: "counts", Value: []string{"1", "two"}, Origin: "--counts"},
		{Key: "parts", Value: [][]Entry{{{Key: "size", Value: "5"}}, {{Key: "sise", Value: "6", Origin: "--part"}}}},
	}, &problems)
	var o outer
	root.Decode(&o)
	if o.Name != "<kept>" || o.Size != 1<<30 || len(o.Parts) != 2 || o.Parts[0].Size != 5 {
		t.Errorf("%+v", o)
	}
	want := `--counts: expected a whole number, found "two"
--part: unknown key "sise"; did you mean "size"? (known: size, every)`
	if d := cmp.Diff(want, problems.Error()); d != "" {
		t.Error(d)
	}
}

func TestADocumentIsHeldToItsSizeBeforeItIsParsed(t *testing.T) {
	for what, c := range map[string]struct{ text, want string }{
		"brackets":           {"a: " + strings.Repeat("[", 100_000), "f.yaml:1:67: values are nested more than 64 deep"},
		"braces":             {"a: " + strings.Repeat("{a: ", 1000), "nested more than 64 deep"},
		"dashes":             {strings.Repeat("- ", 100_000) + "x", "f.yaml:1:129: values are nested more than 64 deep"},
		"keys in keys":       {nested(70), "f.yaml:65:66: values are nested more than 64 deep"},
		"keys":               {strings.Repeat("a: b\n", 20_001), "f.yaml:20001:2: the file has more than 20000 keys"},
		"bytes":              {"name: " + strings.Repeat("x", 1<<20), "f.yaml: the file has 1MiB, and at most 1MiB can be read"},
		"problems, not many": {"counts: [" + strings.Repeat("x,", 1000) + "]\n", "and 900 more problems"},
	} {
		began := time.Now()
		if _, problems := read(t, c.text); c.want != "" && !strings.Contains(problems, c.want) {
			t.Errorf("%s: %.300s, want %s", what, problems, c.want)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("%s: %v", what, took)
		}
	}
	if _, problems := read(t, nested(60)); strings.Contains(problems, "deep") {
		t.Error(problems)
	}
}

// nested is a mapping in a mapping, and so on.
func nested(depth int) string {
	var text strings.Builder
	for n := range depth {
		text.WriteString(strings.Repeat(" ", n) + "a:\n")
	}
	return text.String()
}

func TestAliasesRepeatNotMoreValuesThanADocumentCanHave(t *testing.T) {
	text := "a: &a\n"
	for n := range 2000 {
		text += fmt.Sprintf("  k%d: v\n", n)
	}
	for n := range 600 {
		text += fmt.Sprintf("b%d: *a\n", n)
	}
	var problems Problems
	root, err := Parse("f.yaml", []byte(text), &problems)
	if err != nil {
		t.Fatal(err)
	}
	root.Decode(&map[string]map[string]string{})
	if len(problems) != 1 || problems[0].Message != "the file has too many values: do aliases repeat them?" {
		t.Errorf("%d problems: %.300v", len(problems), problems)
	}
}

func TestALongWordIsQuotedInPart(t *testing.T) {
	long := strings.Repeat("long", 100_000)
	for _, text := range []string{long + ": 1", "on: " + long, "name: [" + long + "]", "counts: [" + long + "]", "mode: " + long, "every: " + long, long + ": 1\n" + long + ": 2", "parts: " + long, "size: " + long} {
		if _, problems := read(t, text); problems == "" || len(problems) > 2100 {
			t.Errorf("%.20s…: %d bytes: %.300s", text, len(problems), problems)
		}
	}
}

// Only where a caller wants it, since a key with a dot is else a typing error.
func TestADottedKeyIsOneOfAnInnerMapping(t *testing.T) {
	type part struct {
		Direct bool `yaml:"direct"`
		Shared bool `yaml:"shared"`
	}
	type options struct {
		Part *part  `yaml:"part"`
		Name string `yaml:"name"`
	}
	for text, want := range map[string]string{
		"{part.direct: true}":                        "",
		"{part: {shared: true}, part.direct: true}":  "",
		"{part.shared: true, part.direct: true}":     "",
		"{part: {direct: false}, part.direct: true}": `f.yaml:1:25: "part.direct" is set twice`,
		"{part.direct: yes!}":                        `f.yaml:1:15: expected true or false, found "yes!"`,
		"{part.drect: true}":                         `f.yaml:1:2: unknown key "drect"; did you mean "direct"? (known: direct, shared)`,
		"{name.direct: true}":                        "f.yaml:1:2: expected text, found a mapping",
		"{prat.direct: true}":                        `f.yaml:1:2: unknown key "prat.direct"; known: part, name`,
	} {
		var problems Problems
		root, err := Parse("f.yaml", []byte(text), &problems)
		if err != nil {
			t.Fatal(err)
		}
		var o options
		root.Dotted().Decode(&o)
		got := ""
		if err := problems.Err(); err != nil {
			got = err.Error()
		}
		if got != want || got == "" && (o.Part == nil || !o.Part.Direct || o.Part.Shared != strings.Contains(text, "shared: true")) {
			t.Errorf("%s: %s, %+v", text, got, o.Part)
		}
	}
	composed := Compose([]Entry{{Key: "part.direct", Value: "on", Origin: "--env a"}}, &Problems{})
	var o options
	composed.Dotted().Decode(&o)
	if got := composed.problems.Error(); got != `--env a: expected true or false, found "on"` {
		t.Error(got)
	}
}
