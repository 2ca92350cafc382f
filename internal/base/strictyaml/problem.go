// Package strictyaml decodes YAML into Go values strictly: an unknown key, a value of
// the wrong type or a duplicate key is a problem with its file, line and column and,
// for a probable typing error, the nearest known word. Decoding continues after a
// problem, so that all of them are reported at once.
//
// It must not know what the documents mean: studies and workload packs add their own
// checks through the same Problems.
package strictyaml

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// maxPrinted is how many problems an error prints.
const maxPrinted = 100

// maxMessage is how long a message about one problem is printed.
const maxMessage = 2000

// Problem is one error in a document.
type Problem struct {
	File         string
	Line, Column int // from 1; 0 if there is no position
	Message      string
	mistyped     bool // the value is a list, a mapping or neither where another one is expected
}

func (p Problem) String() string {
	if long := p.Message; len(long) > maxMessage { // it quotes what the file says
		p.Message = strings.ToValidUTF8(long[:maxMessage/2]+" … "+long[len(long)-maxMessage/2:], "")
	}
	switch {
	case p.File == "":
		return p.Message
	case p.Line == 0:
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Problems collects errors. As an error it prints one per line, in the order of the
// document, and not more than maxPrinted.
type Problems []Problem

func (ps Problems) Error() string {
	var lines []string
	for i, p := range ps.sorted() {
		if i == maxPrinted {
			lines = append(lines, fmt.Sprintf("and %d more problems", len(ps)-i))
			break
		}
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// Err is nil if there are no problems.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	return ps.sorted()
}

func (ps Problems) sorted() Problems {
	sorted, files := slices.Clone(ps), map[string]int{}
	for _, mistyped := range ps { // what is missing for that reason is not another problem
		if mistyped.mistyped {
			sorted = slices.DeleteFunc(sorted, func(p Problem) bool {
				return !p.mistyped && p.File == mistyped.File && p.Line == mistyped.Line && p.Column == mistyped.Column
			})
		}
	}
	for _, p := range ps {
		if _, known := files[p.File]; !known {
			files[p.File] = len(files)
		}
	}
	slices.SortStableFunc(sorted, func(a, b Problem) int {
		if a.File != b.File {
			return files[a.File] - files[b.File]
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return sorted
}

// Nearest returns the candidate that a word is probably a misspelling of, or "".
func Nearest(word string, candidates []string) string {
	if len(word) > maxQuoted {
		return ""
	}
	best, distance := "", 1+max(1, min(3, len(word)/3))
	for _, c := range candidates {
		if d := edits(strings.ToLower(word), strings.ToLower(c)); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// maxQuoted is how much of a word a message quotes.
const maxQuoted = 200

// Quoted quotes a word, shortened if it is long.
func Quoted(word string) string {
	if len(word) > maxQuoted {
		return fmt.Sprintf("%q… (%d bytes)", strings.ToValidUTF8(word[:maxQuoted], ""), len(word))
	}
	return fmt.Sprintf("%q", word)
}

// Unknown returns a message about a name that is not among the known ones.
func Unknown(what, word string, known []string) string {
	message := fmt.Sprintf("unknown %s %s", what, Quoted(word))
	if n := Nearest(word, known); n != "" {
		return fmt.Sprintf("%s; did you mean %q? (known: %s)", message, n, strings.Join(known, ", "))
	}
	if len(known) == 0 {
		return message + "; none is known here"
	}
	return message + "; known: " + strings.Join(known, ", ")
}

// edits is the Damerau-Levenshtein distance in its restricted form (optimal string
// alignment): insertions, deletions, substitutions and transpositions of adjacent
// letters (Damerau, A technique for computer detection and correction of spelling
// errors, 1964).
func edits(a, b string) int {
	before, last, row := []int(nil), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, make([]int, len(b)+1)
	}
	return last[len(b)]
}

// IsPath distinguishes the path of a YAML file from a built-in name: a path has a
// slash, or ends in .yaml or .yml.
func IsPath(name string) bool {
	return strings.ContainsRune(name, filepath.Separator) || strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// In is a path that a file in a directory names.
func In(directory, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(directory, path)
}

// Absolute is In from / on. What is from there already stays as it is.
func Absolute(directory, path string) string {
	whole, err := filepath.Abs(In(directory, path))
	if filepath.IsAbs(path) || err != nil { // the working directory is gone
		return path
	}
	return whole
}

// Names are those of the YAML files of a directory that is embedded in the program, sorted.
func Names(files embed.FS, directory string) []string {
	entries, err := files.ReadDir(directory)
	if err != nil {
		panic(err) // embedded: it is there or the program was not built
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = strings.TrimSuffix(e.Name(), ".yaml")
	}
	slices.Sort(names)
	return names
}

// Todo is the value that stands where a person has to write one.
const Todo = "TODO"

// Unfinished is the error of a document with values that are still Todo, in plain style:
// one problem each, with what the comment of the line says. It is found before the values
// are decoded, which would say of each what it is not.
func Unfinished(file string, data []byte) error {
	if !bytes.Contains(data, []byte(Todo)) {
		return nil
	}
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
