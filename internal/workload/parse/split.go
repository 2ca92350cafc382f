package parse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// nextLine returns the end of the line at an offset, including its newline, and
// its text as lines returns it.
func nextLine(file []byte, at int) (end int, text string) {
	end = len(file)
	if i := bytes.IndexByte(file[at:], '\n'); i >= 0 {
		end = at + i + 1
	}
	return end, lastState(strings.TrimSuffix(string(file[at:end]), "\n"))
}

// splitAt splits a file before every line with which a run begins.
func splitAt(file []byte, starts func(line string) bool) ([][]byte, error) {
	var runs [][]byte
	begin := -1
	for at := 0; at < len(file); {
		end, line := nextLine(file, at)
		if starts(line) {
			if begin >= 0 {
				runs = append(runs, file[begin:at])
			}
			begin = at
		} else if begin < 0 && strings.TrimSpace(line) != "" {
			return nil, fmt.Errorf("%q precedes the first run", clip(line))
		}
		at = end
	}
	if begin < 0 {
		return nil, fmt.Errorf("no run begins in it: %s", ending(lines(file)))
	}
	return append(runs, file[begin:]), nil
}

// splitAfter splits a file after every line with which a run ends.
func splitAfter(file []byte, ends func(line string) bool) ([][]byte, error) {
	var runs [][]byte
	begin := 0
	for at := 0; at < len(file); {
		end, line := nextLine(file, at)
		if ends(line) {
			runs = append(runs, file[begin:end])
			begin = end
		}
		at = end
	}
	if rest := bytes.TrimSpace(file[begin:]); len(rest) > 0 || len(runs) == 0 {
		return nil, fmt.Errorf("no run ends after byte %d: %s", begin, ending(lines(file)))
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
			return nil, fmt.Errorf("document %d of the file: %w; %s", len(runs)+1, err, ending(lines(file)))
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
	for at := 0; at < len(file); {
		end, line := nextLine(file, at)
		if !drop(line) {
			kept = append(kept, file[at:end]...)
		}
		at = end
	}
	return kept
}
