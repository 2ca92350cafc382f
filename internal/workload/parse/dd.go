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
	ddCopied = regexp.MustCompile(`^(?P<bytes>\d+) bytes?(?: \([^)]*\))? copied, (?P<seconds>[0-9.e+-]+) s, .+/s$`)
	ddReport = report{
		tool:   "dd",
		lines:  append(patterns(`^(?P<_full>\d+)\+(?P<_partial>\d+) records out$`), ddCopied),
		other:  anyOf(`\d+\+\d+ records in`),
		wanted: []string{"_full", "seconds"},
	}
)

func parseDD(stdout []byte) (map[string]float64, error) {
	all := lines(stdout)
	fields, err := ddReport.read(all)
	if err != nil {
		return nil, err
	}
	if fields["seconds"] <= 0 {
		return nil, fmt.Errorf("dd took no time: %s", ending(all))
	}
	fields["operations"] = fields["_full"] + fields["_partial"]
	fields["operations_per_second"] = fields["operations"] / fields["seconds"]
	fields["bytes_per_second"] = fields["bytes"] / fields["seconds"]
	return fields, nil
}
