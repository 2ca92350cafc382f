package parse

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
)

// place is where a line is in a file, with its newline, and its number, from 1.
type place struct{ begin, end, number int }

// eachLine are the lines of a file, as lines returns them, with their places.
func eachLine(file []byte) iter.Seq2[place, string] {
	return func(yield func(place, string) bool) {
		at, number := 0, 0
		for line := range bytes.Lines(file) {
			number++
			if !yield(place{at, at + len(line), number}, lastState(strings.TrimSuffix(string(line), "\n"))) {
				return
			}
			at += len(line)
		}
	}
}

// splitAt splits a file before every line with which a run begins. What precedes the first
// one, such as the command or a warning, is of no run, unless it is a line of the tool's
// own: then a run has lost its beginning. A block of Markdown ends the run that it has.
func splitAt(file []byte, starts, own func(line string) bool) ([][]byte, error) {
	var runs [][]byte
	begin, end, fenced := -1, 0, false
	for at, line := range eachLine(file) {
		if starts(line) {
			if begin >= 0 {
				runs = append(runs, file[begin:end])
			}
			begin, fenced = at.begin, false
		} else if begin < 0 && strings.TrimSpace(line) != "" && own(line) {
			return nil, atLine(at.number, fmt.Errorf("%q precedes the first run: is it of one that failed, or that has lost its beginning?", clip(line)))
		}
		if fenced = fenced || line == "```"; !fenced {
			end = at.end
		}
	}
	if begin < 0 {
		return nil, fmt.Errorf("no run begins in it: %s", ending(lines(file)))
	}
	return append(runs, file[begin:end]), nil
}

// splitAfter splits a file after every line with which a run ends.
func splitAfter(file []byte, ends func(line string) bool) ([][]byte, error) {
	var runs [][]byte
	begin, last, comma := 0, 0, ""
	for at, line := range eachLine(file) {
		if ends(line) {
			runs = append(runs, file[begin:at.end])
			begin, comma = at.end, ""
		} else if line != "" {
			last, comma = at.number, cmp.Or(comma, decimalComma(line))
		}
	}
	if rest := bytes.TrimSpace(file[begin:]); len(rest) > 0 || len(runs) == 0 {
		return nil, atLine(last, fmt.Errorf("no result ends with it: %s%s", ending(lines(file)), comma))
	}
	return runs, nil
}

// splitJSON splits concatenated JSON documents.
func splitJSON(file []byte) ([][]byte, error) {
	var runs [][]byte
	decoder := json.NewDecoder(bytes.NewReader(file))
	for {
		var document json.RawMessage
		if err := decoder.Decode(&document); err == io.EOF {
			break
		} else if err != nil {
			return nil, inJSON(file, fmt.Errorf("document %d of the file: %w; %s", len(runs)+1, err, ending(lines(file))))
		}
		runs = append(runs, document)
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("no JSON is in it")
	}
	return runs, nil
}

// without is a file without the lines that are dropped.
func without(file []byte, drop func(line string) bool) (kept []byte) {
	for at, line := range eachLine(file) {
		if !drop(line) {
			kept = append(kept, file[at.begin:at.end]...)
		}
	}
	return kept
}
