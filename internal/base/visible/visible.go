// Package visible shows the characters of text from outside that would otherwise act
// where the text is printed: control characters, which terminals obey, and those that
// reorder the text around them. Each exit uses it once: the terminal, Markdown, HTML,
// CSV and the labels of metrics.
//
// It must not know where a text comes from, nor print it.
package visible

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// acts reports whether a character does something instead of being shown.
func acts(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'
}

// Text shows all such characters as \u001b, except newlines and tabs, and bytes that are
// no UTF-8 as \x9b. A carriage return before a newline is left out. JSON stays JSON with
// the same meaning.
func Text(s string) string {
	return escape(strings.ReplaceAll(s, "\r\n", "\n"), `\u%04x`, "\n\t")
}

// Line is Text for what belongs in one line, such as a name: newlines and tabs are shown
// too.
func Line(s string) string { return escape(s, `\u%04x`, "") }

// JSON is Text for JSON whose strings somebody shows: they hold the escape.
func JSON(s string) string { return escape(s, `\\u%04x`, "\n\t") }

func escape(s, form, except string) string {
	hidden := func(r rune) bool { return r == utf8.RuneError || acts(r) && !strings.ContainsRune(except, r) }
	if strings.IndexFunc(s, hidden) < 0 {
		return s // as nearly all texts, however long
	}
	var out strings.Builder
	for i, r := range s {
		size := utf8.RuneLen(r)
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&out, `\x%02x`, s[i])
		case acts(r) && !strings.ContainsRune(except, r):
			fmt.Fprintf(&out, form, r)
		default:
			out.WriteString(s[i : i+size])
		}
	}
	return out.String()
}

// Indent indents all lines but the first, so that none passes for a line of tare's own.
func Indent(s string) string { return strings.ReplaceAll(s, "\n", "\n  ") }

// names are the fields of structs that hold names: one line wherever they are printed.
var names = []string{"Name", "Tare", "Baseline", "Kind", "Environment", "Workload", "Level", "Metric", "Unit", "Title", "Label", "Instance", "Instances", "Base", "Part", "Subject", "Switched", "Host", "Role", "Operations", "Digest", "Tool", "State", "Status"}

// Names applies Line to all names below the value that a pointer points to: the fields
// that are called so, and the keys of maps.
func Names(pointer any) { lines(reflect.ValueOf(pointer).Elem(), false) }

func lines(v reflect.Value, name bool) {
	switch v.Kind() {
	case reflect.String:
		if name && v.CanSet() {
			v.SetString(Line(v.String()))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			lines(v.Elem(), name)
		}
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			for i := range v.Len() {
				lines(v.Index(i), name)
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if shown := key.Kind() != reflect.String || Line(key.String()) == key.String(); shown && v.Type().Elem().Kind() == reflect.Float64 {
				continue
			}
			value := reflect.New(v.Type().Elem()).Elem()
			value.Set(v.MapIndex(key))
			lines(value, name)
			if key.Kind() == reflect.String {
				v.SetMapIndex(key, reflect.Value{})
				key = reflect.ValueOf(Line(key.String())).Convert(key.Type())
			}
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := fieldsOf(v.Type())[i]; f.exported {
				lines(v.Field(i), f.name)
			}
		}
	}
}

// field of a struct: whether it is exported, and whether it holds a name.
type field struct{ exported, name bool }

var fields sync.Map // by type: a journal has many trials

func fieldsOf(t reflect.Type) []field {
	if known, ok := fields.Load(t); ok {
		return known.([]field)
	}
	all := make([]field, t.NumField())
	for i := range all {
		f := t.Field(i)
		all[i] = field{f.IsExported(), slices.Contains(names, f.Name)}
	}
	fields.Store(t, all)
	return all
}

// markup is what Markdown acts on, and nowhere is a character without width, which keeps
// apart what GitHub and GitLab make a link or a notification of: addresses, @team, #12.
var (
	markup  = strings.NewReplacer("\\", "\\\\", "|", "\\|", "\n", " ", "<", "&lt;", "](", "]\\(", "*", "\\*", "_", "\\_", "`", "\\`", "~~", "\\~~", "&", "&amp;")
	links   = regexp.MustCompile(`(?i)(:)(//)|(\bwww)(\.)|(\bgh)(-\d)|([@#!])(\\?\w)`)
	nowhere = "$1$3$5$7&#8203;$2$4$6$8"
)

// Markdown keeps text from being read as markup, and inside its table cell.
func Markdown(text string) string {
	return links.ReplaceAllString(markup.Replace(Text(text)), nowhere)
}

// MarkdownCode sets text as code, whatever backticks it has.
func MarkdownCode(text string) string {
	text = strings.NewReplacer("|", "\\|", "\n", " ").Replace(Text(text))
	if text == "" {
		return ""
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}
