package parse

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"iter"
	"unicode/utf16"
)

// What stands around the output of a tool in a file that somebody kept, and where in it an
// error is.

// Line is an error about one line of an output.
type Line struct {
	Number int // from 1
	Err    error
}

func (l *Line) Error() string { return l.Err.Error() }

func (l *Line) Unwrap() error { return l.Err }

// atLine says on which line an error is; 0 is none of them.
func atLine(number int, err error) error {
	if err == nil || number == 0 {
		return err
	}
	return &Line{number, err}
}

// inJSON says on which line of a document an error is.
func inJSON(document []byte, err error) error {
	var wrong *json.SyntaxError
	if !errors.As(err, &wrong) {
		return err
	}
	before := document[:min(max(wrong.Offset-1, 0), int64(len(document)))]
	return atLine(1+bytes.Count(before, []byte("\n")), err)
}

// each goes through the last lines of the output and notes which one is being read.
func (r *reading) each(all []string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		for i, line := range all {
			if r.at = len(r.lines) - len(all) + i + 1; !yield(i, line) {
				break
			}
		}
		r.at = 0
	}
}

// Text is a file as UTF-8 without byte order marks, which editors and PowerShell write; the
// latter writes UTF-16. Lines stay where they are.
func Text(file []byte) ([]byte, error) {
	text := file
	for mark, order := range map[string]binary.ByteOrder{"\xff\xfe": binary.LittleEndian, "\xfe\xff": binary.BigEndian} {
		if bytes.HasPrefix(file, []byte(mark)) {
			units := make([]uint16, len(file)/2)
			for i := range units {
				units[i] = order.Uint16(file[2*i:])
			}
			text = []byte(string(utf16.Decode(units)))
		}
	}
	text = bytes.ReplaceAll(text, []byte("\ufeff"), nil) // also of a file behind another
	if at := bytes.IndexByte(text, 0); at >= 0 {
		return nil, atLine(1+bytes.Count(text[:at], []byte("\n")), errors.New("it has bytes of 0: is it UTF-16? Save it as UTF-8"))
	}
	return text, nil
}

// aroundOutput are lines that are kept with an output: a prompt or a trace of the shell with
// the command, a block of Markdown, ssh's note about a host's key, and a tool's own about the names of options.
var aroundOutput = expression("^```[a-z]*$|" + `^(?:[^ ]*[$#%>] |\++ )[a-z./].*$|^Warning: Permanently added '.*' \(.*\) to the list of known hosts\.$|^WARNING: (?:.* is deprecated\b|Keepalive disabled\.|-e option has no effect\.|Could not fetch server CONFIG$)`)

// troubled are lines of a run that failed.
var troubled = expression(`(?i)\b(error|fatal|fail(ed|ure)|killed|refused|segmentation fault)\b`)

// own says of a line before the first run that it is not just around the output.
func (d *declaration) own(line string) bool {
	report := &d.Report
	switch {
	case aroundOutput.match(line), report.Beside.match(line):
		return false
	case len(report.Figures) == 0: // what its lines are is not known here
		return true
	}
	return report.Figures.match(line) || report.Other.match(line) || troubled.match(line)
}

// ownOf is for a tool whose lines are known by something else.
func ownOf(is func(line string) bool) func(line string) bool {
	return func(line string) bool { return !aroundOutput.match(line) && (is(line) || troubled.match(line)) }
}

func anything(string) bool { return true }

// withComma leaves out what can be a group of thousands.
var withComma = expression(`(?:^|[^0-9,.])(?:0,\d+|\d+,(?:\d{1,2}|\d{4,}))(?:[^0-9,.]|$)`)

// decimalComma is what to do about a line with a decimal comma; "" if it has none.
func decimalComma(line string) string {
	if !withComma.match(line) {
		return ""
	}
	return ": a number with a decimal comma is not read; run the tool with LC_ALL=C"
}
