package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tare/internal/base/lists"
)

// schema is a JSON schema (draft 2020-12), as far as those of tare use it.
type schema struct {
	Title       string            `json:"title"`
	Description string            `json:"description"`
	Ref         string            `json:"$ref"`
	Type        any               `json:"type"`
	Const       json.RawMessage   `json:"const"`
	Enum        []json.RawMessage `json:"enum"`
	Minimum     json.Number       `json:"minimum"`
	Above       json.Number       `json:"exclusiveMinimum"`
	Maximum     json.Number       `json:"maximum"`
	Below       json.Number       `json:"exclusiveMaximum"`
	MinItems    int               `json:"minItems"`
	Items       *schema           `json:"items"`
	Additional  json.RawMessage   `json:"additionalProperties"`
	Properties  properties        `json:"properties"`
	Required    []string          `json:"required"`
	OneOf       []schema          `json:"oneOf"`
	AnyOf       []schema          `json:"anyOf"`
	AllOf       []schema          `json:"allOf"`
	Defs        properties        `json:"$defs"`
}

// properties are in the order of the file.
type properties []property

type property struct {
	name string
	schema
}

// UnmarshalJSON reads an object, or true and false, which allow everything and nothing.
func (s *schema) UnmarshalJSON(text []byte) error {
	if string(text) == "true" || string(text) == "false" {
		return nil
	}
	type plain schema
	return json.Unmarshal(text, (*plain)(s))
}

func (p *properties) UnmarshalJSON(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		one := property{name: fmt.Sprint(name)}
		if err := d.Decode(&one.schema); err != nil {
			return err
		}
		*p = append(*p, one)
	}
	return nil
}

// schemaPage is the page of a schema: a table for itself and for each of its parts.
func schemaPage(file string, text []byte) (string, error) {
	var s schema
	if err := json.Unmarshal(text, &s); err != nil {
		return "", err
	}
	var page strings.Builder
	fmt.Fprintf(&page, "# %s\n\n%s\n\nThe schema is [%s](../../schema/%s). Keys with * are required.\n", s.Title, s.Description, file, file)
	s.table(&page, s.Defs)
	for _, part := range s.Defs {
		fmt.Fprintf(&page, "\n## %s\n", part.name)
		if part.Description != "" {
			fmt.Fprintf(&page, "\n%s\n", part.Description)
		}
		if len(part.keys("", s.Defs)) == 0 {
			fmt.Fprintf(&page, "\nValue: %s.\n", part.value())
			continue
		}
		part.table(&page, s.Defs)
	}
	return page.String(), nil
}

func (s schema) table(page *strings.Builder, parts properties) {
	rows := s.keys("", parts)
	if len(rows) == 0 {
		return
	}
	page.WriteString("\n| key | value | meaning |\n|---|---|---|\n")
	for _, row := range rows {
		page.WriteString(row)
	}
}

// keys are the rows of an object's keys; those of objects below it follow with its name.
func (s schema) keys(above string, parts properties) (rows []string) {
	for _, p := range s.Properties {
		mark := ""
		if slices.Contains(s.Required, p.name) {
			mark = " *"
		}
		rows = append(rows, fmt.Sprintf("| `%s%s`%s | %s | %s |\n", above, p.name, mark, cell(p.value()), cell(p.meaning(parts))))
		rows = append(rows, p.keys(above+p.name+".", parts)...)
		if p.Items != nil {
			rows = append(rows, p.Items.keys(above+p.name+"[].", parts)...)
		}
		if values, is := p.values(); is {
			rows = append(rows, values.keys(above+p.name+".NAME.", parts)...)
		}
	}
	for _, other := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
		rows = append(rows, other.keys(above, parts)...)
	}
	return slices.Compact(rows)
}

// meaning is the description of a key, or else of the part that it refers to.
func (p property) meaning(parts properties) string {
	if p.Description != "" {
		return p.Description
	}
	i := slices.IndexFunc(parts, func(part property) bool { return p.Ref == "#/$defs/"+part.name })
	if i < 0 {
		return ""
	}
	return parts[i].Description
}

// values is the schema of the values of a map.
func (s schema) values() (values schema, is bool) {
	is = len(s.Additional) > 0 && json.Unmarshal(s.Additional, &values) == nil && string(s.Additional) != "false" && string(s.Additional) != "true"
	return values, is
}

// value says what a value may be.
func (s schema) value() string {
	var either []string
	for _, other := range slices.Concat(s.OneOf, s.AnyOf) {
		if v := other.value(); v != "" && !slices.Contains(either, v) {
			either = append(either, v)
		}
	}
	values, isMap := s.values()
	switch {
	case strings.HasPrefix(s.Ref, "#/$defs/"):
		name := strings.TrimPrefix(s.Ref, "#/$defs/")
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
	case s.Ref != "": // another file
		file, _, _ := strings.Cut(s.Ref, "#")
		return fmt.Sprintf("[%s](%s.md)", file, strings.TrimSuffix(file, ".schema.json"))
	case s.Const != nil:
		return "`" + strings.Trim(string(s.Const), `"`) + "`"
	case s.Enum != nil:
		for _, v := range s.Enum {
			either = append(either, "`"+strings.Trim(string(v), `"`)+"`")
		}
		return strings.Join(either, ", ")
	case s.Items != nil:
		return strings.TrimSpace("list of " + s.Items.value())
	case isMap:
		return strings.TrimSpace("map to " + values.value())
	case len(either) > 0:
		return strings.Join(either, " or ")
	}
	return s.kind() + s.bounds()
}

func (s schema) kind() string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		return strings.Join(lists.Map(t, func(name any) string { return fmt.Sprint(name) }), " or ")
	}
	if len(s.Properties) > 0 {
		return "object"
	}
	return ""
}

func (s schema) bounds() (text string) {
	if s.Minimum != "" && s.Maximum != "" {
		return fmt.Sprintf(" from %s to %s", s.Minimum, s.Maximum)
	}
	for _, b := range []struct {
		sign  string
		bound json.Number
	}{{"≥", s.Minimum}, {">", s.Above}, {"≤", s.Maximum}, {"<", s.Below}} {
		if b.bound != "" {
			text += fmt.Sprintf(", %s %s", b.sign, b.bound)
		}
	}
	return text
}

func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}
