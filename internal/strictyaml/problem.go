// Package strictyaml decodes YAML into Go values strictly: an unknown key, a value of
// the wrong type or a duplicate key is a problem with its file, line and column and,
// for a probable typing error, the nearest known word. Decoding continues after a
// problem, so that all of them are reported at once.
//
// It must not know what the documents mean: studies and workload packs add their own
// checks through the same Problems.
package strictyaml

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Problem is one error in a document.
type Problem struct {
	File         string
	Line, Column int // from 1; 0 if there is no position
	Message      string
}

func (p Problem) String() string {
	switch {
	case p.File == "":
		return p.Message
	case p.Line == 0:
		return p.File + ": " + p.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// Problems collects errors. As an error it prints one per line, in the order of the
// document.
type Problems []Problem

func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps.sorted() {
		lines[i] = p.String()
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
	best, distance := "", 1+max(1, min(3, len(word)/3))
	for _, c := range candidates {
		if d := edits(strings.ToLower(word), strings.ToLower(c)); d < distance {
			best, distance = c, d
		}
	}
	return best
}

// Unknown returns a message about a name that is not among the known ones.
func Unknown(what, word string, known []string) string {
	message := fmt.Sprintf("unknown %s %q", what, word)
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
