package strictyaml

import (
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// Entry is one key of a mapping that a program composes.
type Entry struct {
	Key   string
	Value any // string, []string, []Entry, or [][]Entry for a list of mappings
	// Origin is what the user typed it in, such as a flag: problems at the value
	// name it in place of a file and a line. "" is that of the enclosing entry.
	Origin string
}

// Compose returns a document that is made of values instead of text. It is
// decoded like a file.
func Compose(entries []Entry, problems *Problems) Node {
	c := composer{origins: map[ast.Node]string{}}
	return Node{node: c.mapping(entries), anchors: map[string]ast.Node{}, origins: c.origins, problems: problems}
}

type composer struct{ origins map[ast.Node]string }

func (c composer) value(value any) ast.Node {
	switch v := value.(type) {
	case string:
		return ast.String(word(v))
	case []string:
		list := ast.Sequence(word("["), false)
		for _, s := range v {
			list.Values = append(list.Values, c.value(s))
		}
		return list
	case []Entry:
		return c.mapping(v)
	case [][]Entry:
		list := ast.Sequence(word("["), false)
		for _, m := range v {
			list.Values = append(list.Values, c.mapping(m))
		}
		return list
	}
	panic("strictyaml: cannot compose this type of value") // see Entry
}

func (c composer) mapping(entries []Entry) ast.Node {
	m := ast.Mapping(word("{"), false)
	for _, e := range entries {
		key, value := ast.String(word(e.Key)), c.value(e.Value)
		if e.Origin != "" {
			c.origins[key], c.origins[value] = e.Origin, e.Origin
		}
		m.Values = append(m.Values, ast.MappingValue(word(":"), key, value))
	}
	return m
}

// word is a token without a position.
func word(text string) *token.Token { return &token.Token{Value: text, Origin: text} }
