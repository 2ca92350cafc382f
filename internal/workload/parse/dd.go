package parse

import (
	"fmt"
	"regexp"
)

var dd = Parser{
	Name:     "dd",
	About:    "GNU dd's closing lines (LC_ALL=C), sent to standard output with 2>&1",
	Versions: "coreutils 9.1",
	Fields: []Field{
		{"operations", "op"}, {"seconds", "s"}, {"bytes", "B"},
		{"operations_per_second", "op/s"}, {"bytes_per_second", "B/s"},
	},
	Parse: parseDD,
	Split: func(file []byte) ([][]byte, error) { return splitAfter(file, ddCopied.MatchString) },
}

var (
	ddRecords = regexp.MustCompile(`^(\d+)\+(\d+) records (in|out)$`)
	ddCopied  = regexp.MustCompile(`^(\d+) bytes?(?: \([^)]*\))? copied, ([0-9.e+-]+) s, .+/s$`)
)

func parseDD(stdout []byte) (map[string]float64, error) {
	fields, all := map[string]float64{}, lines(stdout)
	for _, line := range all {
		if m := ddRecords.FindStringSubmatch(line); m != nil {
			full, err := number(m[1], line)
			if err != nil {
				return nil, err
			}
			partial, err := number(m[2], line)
			if err != nil {
				return nil, err
			}
			if m[3] == "out" {
				fields["operations"] = full + partial
			}
		} else if m := ddCopied.FindStringSubmatch(line); m != nil {
			if _, twice := fields["bytes"]; twice {
				return nil, fmt.Errorf("two results; the second is %q", clip(line))
			}
			if err := take(fields, line, m[1:], "bytes", "seconds"); err != nil {
				return nil, err
			}
		} else if line != "" {
			return nil, fmt.Errorf("dd does not print such a line: %q", clip(line))
		}
	}
	operations, counted := fields["operations"]
	seconds, timed := fields["seconds"]
	if !counted || !timed || seconds <= 0 {
		return nil, fmt.Errorf("dd's closing lines are not complete: %s", ending(all))
	}
	fields["operations_per_second"] = operations / seconds
	fields["bytes_per_second"] = fields["bytes"] / seconds
	return fields, nil
}
