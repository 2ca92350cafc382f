package study

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"tare/internal/application/secret"
	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
	"tare/internal/base/visible"
	"tare/internal/workload"
)

// Draft is a study that a command composes from its flags, with one workload.
// What it leaves out has the default of a study file.
type Draft struct {
	Title    string
	Name     string // safe for a directory name
	Origin   string // the command: tare bench
	Baseline string

	Environments []DraftEnvironment
	Limits       []Setting
	Reference    string   // of an OCI image
	Packages     []string // of the distribution, added to the image that tare builds
	Use          string   // the workload: a built-in name, a file, or the name of Pack
	Pack         *workload.Pack
	Parameters   []Setting
	Sweep        Sweep    // of a parameter, which makes the levels
	Arguments    []string // of the image's own command; nil for those of the image
	Secret       []secret.Source
	Mounts       []string // HOST:INSIDE[:ro]
	Inputs       []string // HOST[:INSIDE]

	Margin, Fresh, Order string
	Blocks               int // exactly so many; 0 is the default
}

// DraftEnvironment is one environment of a draft.
type DraftEnvironment struct {
	Name, Kind string
	Options    []Setting
	Limits     []Setting // in place of those of the draft
	With       []Setting // parameters of the workload that differ here
}

// Sweep is a range of a parameter; without a name there is none.
type Sweep struct{ Parameter, From, To, Step string }

// Setting is KEY=VALUE of a command line.
type Setting struct{ Key, Value string }

// shortKinds are kinds that a command line may abbreviate.
var shortKinds = map[string]string{"vm": "qemu"}

// KindOf returns the kind that a name on a command line stands for.
func KindOf(name string) string {
	if kind, short := shortKinds[name]; short {
		return kind
	}
	return name
}

// ParseEnvironments reads the values of --env.
func ParseEnvironments(texts []string) (list []DraftEnvironment, err error) {
	for _, text := range texts {
		e, err := ParseEnvironment(text)
		if err != nil {
			return nil, fmt.Errorf("--env %s: %w", text, err)
		}
		list = append(list, e)
	}
	return list, nil
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9]+`)

// ParseEnvironment reads NAME or NAME+OPTION=VALUE+..., in which a.b=c is the option b of a,
// and [c] a list.
func ParseEnvironment(text string) (DraftEnvironment, error) {
	words := strings.Split(text, "+")
	e := DraftEnvironment{
		Name: strings.Trim(notInName.ReplaceAllString(text, "-"), "-"),
		Kind: KindOf(words[0]),
	}
	var err error
	e.Options, err = ParseSettings(words[1:], "OPTION=VALUE")
	return e, err
}

// ParseSettings reads KEY=VALUE texts; form is how the flag's help writes them.
func ParseSettings(texts []string, form string) (settings []Setting, err error) {
	for _, text := range texts {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			return nil, fmt.Errorf("%q is not %s", text, form)
		}
		settings = append(settings, Setting{key, value})
	}
	return settings, nil
}

// Resolve checks the draft by the rules of study files and returns its plan. The
// error is the first problem; it names the flag or the environment that has it.
func (d Draft) Resolve(over Overrides) (*Plan, error) {
	file := &File{Origin: d.Origin, Name: d.Name}
	if d.Pack != nil {
		file = file.With(d.Pack)
	}
	var problems strictyaml.Problems
	plan, err := resolve(strictyaml.Compose(d.document(), &problems), file, over, &problems)
	if found := (strictyaml.Problems)(nil); errors.As(err, &found) {
		return nil, found[:1]
	}
	return plan, err
}

// document is the draft in the form of a study file.
func (d Draft) document() []strictyaml.Entry {
	var environments []strictyaml.Entry
	for _, e := range d.Environments {
		options := append([]strictyaml.Entry{{Key: "kind", Value: e.Kind}}, optionEntries(e.Options)...)
		if len(e.Limits) > 0 {
			options = append(options, strictyaml.Entry{Key: "limits", Value: entries(e.Limits)})
		}
		if len(e.With) > 0 {
			options = append(options, strictyaml.Entry{Key: "with", Value: []strictyaml.Entry{{Key: d.Use, Value: entries(e.With)}}})
		}
		environments = append(environments, strictyaml.Entry{Key: e.Name, Value: options, Origin: "environment " + e.Name})
	}
	var image, design, secrets []strictyaml.Entry
	for _, s := range d.Secret {
		where := []strictyaml.Entry{{Key: "env", Value: s.Env}}
		if s.Env == "" {
			where = []strictyaml.Entry{{Key: "file", Value: s.File}}
		}
		secrets = append(secrets, strictyaml.Entry{Key: s.Name, Value: where, Origin: "--secret"})
	}
	if d.Reference != "" {
		image = append(image, strictyaml.Entry{Key: "reference", Value: d.Reference})
	} else if len(d.Packages) > 0 {
		image = append(image, strictyaml.Entry{Key: "packages", Value: d.Packages})
	}
	if d.Margin != "" {
		design = append(design, strictyaml.Entry{Key: "margin", Value: d.Margin, Origin: "--margin"})
	}
	if d.Fresh != "" {
		design = append(design, strictyaml.Entry{Key: "fresh", Value: d.Fresh})
	}
	if d.Order != "" {
		design = append(design, strictyaml.Entry{Key: "order", Value: d.Order})
	}
	if d.Blocks > 0 {
		design = append(design, strictyaml.Entry{Key: "blocks", Value: strconv.Itoa(d.Blocks)})
	}
	workload := append([]strictyaml.Entry{{Key: "use", Value: d.Use}}, entries(d.Parameters)...)
	if d.Sweep.Parameter != "" {
		workload = append(workload, strictyaml.Entry{Key: d.Sweep.Parameter, Origin: "--parameter-scan", Value: []strictyaml.Entry{
			{Key: "from", Value: d.Sweep.From}, {Key: "to", Value: d.Sweep.To}, {Key: "step", Value: d.Sweep.Step}}})
	}
	if len(d.Arguments) > 0 {
		workload = append(workload, strictyaml.Entry{Key: "arguments", Value: d.Arguments})
	}
	return []strictyaml.Entry{
		{Key: "study", Value: d.Title},
		{Key: "baseline", Value: d.Baseline},
		{Key: "limits", Value: entries(d.Limits), Origin: "--limits"},
		{Key: "secret", Value: secrets},
		{Key: "mounts", Value: d.Mounts, Origin: "--mount"},
		{Key: "inputs", Value: d.Inputs, Origin: "--input"},
		{Key: "environments", Value: environments},
		{Key: "image", Value: image},
		{Key: "workloads", Value: [][]strictyaml.Entry{workload}},
		{Key: "design", Value: design},
	}
}

func entries(settings []Setting) []strictyaml.Entry {
	return lists.Map(settings, func(s Setting) strictyaml.Entry { return strictyaml.Entry{Key: s.Key, Value: s.Value} })
}

// optionEntries are settings of which some are lists: [16379], [a,b].
func optionEntries(settings []Setting) []strictyaml.Entry {
	all := entries(settings)
	for i, s := range settings {
		if inside, is := strings.CutPrefix(s.Value, "["); is && strings.HasSuffix(inside, "]") {
			words := strings.FieldsFunc(strings.TrimSuffix(inside, "]"), func(c rune) bool { return c == ',' || c == ' ' })
			all[i].Value = append([]string{}, words...)
		}
	}
	return all
}

// Text is a study or a pack that a command writes for its user: lines of YAML, with a
// comment each. A line that needs a person is marked TODO.
type Text struct{ lines []textLine }

type textLine struct {
	yaml, comment string
	todo          bool
}

// Todo is the value that stands where a person has to write one. It is never valid.
const Todo = strictyaml.Todo

const (
	// commentAt is the column in which comments stand, if the line leaves the room.
	commentAt = 34
	textWidth = 80
)

// Add adds a line; the comment can be "".
func (t *Text) Add(yaml, comment string) {
	t.lines = append(t.lines, textLine{yaml: yaml, comment: comment})
}

// Ask adds a line that a person has to complete; what says with what.
func (t *Text) Ask(yaml, what string) {
	t.lines = append(t.lines, textLine{yaml, Todo + ": " + what, true})
}

// Off adds a line that is not in effect, for a person who wants it.
func (t *Text) Off(yaml, comment string) {
	indent := len(yaml) - len(strings.TrimLeft(yaml, " "))
	t.Add(yaml[:indent]+"# "+yaml[indent:], comment)
}

// Note adds a comment of its own, wrapped, and indented as the format is.
func (t *Text) Note(format string, values ...any) {
	begin := format[:len(format)-len(strings.TrimLeft(format, " "))] + "#"
	line := begin
	for word := range strings.FieldsSeq(visible.Line(fmt.Sprintf(format, values...))) {
		if len(line)+1+len(word) > textWidth && line != begin {
			t.Add(line, "")
			line = begin
		}
		line += " " + word
	}
	t.Add(line, "")
}

// Bytes are the lines. A comment that does not fit beside its line stands above it.
func (t *Text) Bytes() []byte {
	text, _ := t.render()
	return []byte(text)
}

// Todos are the numbers of the lines that need a person.
func (t *Text) Todos() []int {
	_, todos := t.render()
	return todos
}

func (t *Text) render() (text string, todos []int) {
	var out []string
	for _, l := range t.lines {
		pad := max(commentAt-len(l.yaml), 1)
		comment := visible.Line(l.comment)
		switch {
		case comment == "":
			out = append(out, l.yaml)
		case len(l.yaml)+pad+2+len(comment) <= textWidth:
			out = append(out, l.yaml+strings.Repeat(" ", pad)+"# "+comment)
		case l.todo || len(l.yaml)+3+len(comment) <= textWidth:
			out = append(out, l.yaml+" # "+comment)
		default:
			indent := len(l.yaml) - len(strings.TrimLeft(l.yaml, " "))
			out = append(out, l.yaml[:indent]+"# "+comment, l.yaml)
		}
		if l.todo {
			todos = append(todos, len(out))
		}
	}
	return strings.Join(out, "\n") + "\n", todos
}

// Environments adds the environments, with a comment each by its kind.
func (t *Text) Environments(list []DraftEnvironment, about map[string]string) {
	for _, e := range list {
		var options []Setting
		if e.Kind != e.Name {
			options = append(options, Setting{"kind", e.Kind})
		}
		t.Add(fmt.Sprintf("  %s: %s", Quoted(e.Name), Flow(append(options, e.Options...))), about[e.Kind])
	}
}

// Flow are settings in one line.
func Flow(settings []Setting) string {
	return "{" + strings.Join(lists.Map(settings, func(s Setting) string { return Quoted(s.Key) + ": " + Quoted(s.Value) }), ", ") + "}"
}

// FlowList are texts in one line.
func FlowList(texts []string) string { return "[" + strings.Join(lists.Map(texts, Quoted), ", ") + "]" }

var plainText = regexp.MustCompile(`^[A-Za-z0-9/.][A-Za-z0-9/._-]*$`)

// Quoted is a text as a value in YAML.
func Quoted(text string) string {
	if plainText.MatchString(text) && !strings.HasSuffix(text, ".") && !strings.EqualFold(text, "null") && text != Todo {
		return text
	}
	return strconv.Quote(text)
}
