package parse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// nextLine returns where the line that begins at a byte ends, its newline
// included, and its text as lines gives it.
func nextLine(file []byte, at int) (end int, text string) {
	end = len(file)
	if i := bytes.IndexByte(file[at:], '\n'); i >= 0 {
		end = at + i + 1
	}
	return end, lastState(strings.TrimSuffix(string(file[at:end]), "\n"))
}

// splitAt cuts a file before every line that a run starts with.
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
			return nil, fmt.Errorf("%q stands before the first run", clip(line))
		}
		at = end
	}
	if begin < 0 {
		return nil, fmt.Errorf("no run begins in it: %s", ending(lines(file)))
	}
	return append(runs, file[begin:]), nil
}

// splitAfter cuts a file behind every line that a run ends with.
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
		return nil, fmt.Errorf("no run ends behind byte %d: %s", begin, ending(lines(file)))
	}
	return runs, nil
}

// splitPrefix is splitAt for a first line that is known by how it begins.
func splitPrefix(prefix string) func([]byte) ([][]byte, error) {
	return func(file []byte) ([][]byte, error) {
		return splitAt(file, func(line string) bool { return strings.HasPrefix(line, prefix) })
	}
}

// splitJSON cuts JSON documents apart that stand one behind the other.
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
