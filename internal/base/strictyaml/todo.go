package strictyaml

import (
	"cmp"
	"strings"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// Todo is the value that stands where a person has to write one.
const Todo = "TODO"

// Unfinished is the error of a document with values that are still Todo, in plain style:
// one problem each, with what the comment of the line says. It is found before the values
// are decoded, which would say of each what it is not.
func Unfinished(file string, data []byte) error {
	var problems Problems
	tokens := lexer.Tokenize(string(data))
	for n, t := range tokens {
		if t.Type != token.StringType || t.Value != Todo || t.NextType() == token.MappingValueType ||
			t.PreviousType() == token.LiteralType || t.PreviousType() == token.FoldedType {
			continue
		}
		advice := ""
		for _, c := range tokens[n+1:] {
			if c.Position.Line != t.Position.Line {
				break
			}
			if c.Type == token.CommentType {
				advice = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(c.Value), Todo+":"))
			}
		}
		problems = append(problems, Problem{
			File: file, Line: t.Position.Line, Column: t.Position.Column,
			Message: "still " + Todo + ": " + cmp.Or(advice, "write the value"),
		})
	}
	return problems.Err()
}
