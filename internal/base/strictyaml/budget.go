package strictyaml

import (
	"fmt"

	"github.com/goccy/go-yaml/token"

	"tare/internal/base/quantity"
)

// What a document may hold: parsing takes time and memory by the square of its depth
// and of its keys, and aliases repeat values.
const (
	MaxSize  = quantity.MiB
	maxDepth = 64
	maxKeys  = 20_000
	maxSteps = 1_000_000 // of decoding
)

// checkSize refuses what would take long to parse, by its tokens.
func checkSize(file string, tokens token.Tokens) error {
	problem := func(t *token.Token, format string, args ...any) error {
		return Problems{{File: file, Line: t.Position.Line, Column: t.Position.Column, Message: fmt.Sprintf(format, args...)}}
	}
	flow, keys := 0, 0
	var columns []int // of the blocks around a token
	block := func(column int) {
		for len(columns) > 0 && columns[len(columns)-1] >= column {
			columns = columns[:len(columns)-1]
		}
		columns = append(columns, column)
	}
	for n, t := range tokens {
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType:
			block(t.Position.Column)
		case token.MappingValueType:
			if keys++; keys > maxKeys {
				return problem(t, "the file has more than %d keys", maxKeys)
			}
			if n > 0 && flow == 0 {
				block(tokens[n-1].Position.Column)
			}
		}
		if flow+len(columns) > maxDepth {
			return problem(t, "values are nested more than %d deep", maxDepth)
		}
	}
	return nil
}

// step counts a step of decoding. It returns false when there were too many.
func (n Node) step() bool {
	if n.steps == nil {
		return true // composed
	}
	*n.steps++
	if *n.steps == maxSteps {
		n.Problemf("the file has too many values: do aliases repeat them?")
	}
	return *n.steps < maxSteps
}
