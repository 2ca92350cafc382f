package study

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
	"tare/internal/base/visible"
)

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
