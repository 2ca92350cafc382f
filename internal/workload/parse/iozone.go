package parse

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

var iozone = Parser{
	Name:     "iozone",
	About:    "IOzone's table in kB/s (1024 bytes) of one file size and record size; tests that were not run are absent",
	Versions: "3.489",
	Fields:   iozoneFields(),
	Parse:    parseIOzone,
	Split:    splitIOzone,
	Settings: settingsIn(`^\t +Version \$Revision: (?P<version>\S+) \$$`, `^ +(?P<file_kb>\d+) +(?P<record_kb>\d+)( .*)?$`),
}

// Columns have a fixed position in the line; that of a test that did not run is
// blank.
var (
	iozoneEnds    = []int{16, 24, 33, 42, 51, 60, 69, 78, 87, 97, 107, 116, 125, 134, 143}
	iozoneColumns = []string{
		"write", "rewrite", "read", "reread", "random_read", "random_write", "backward_read",
		"record_rewrite", "stride_read", "fwrite", "frewrite", "fread", "freread",
	}
	iozoneHeads = [2]string{
		"random    random     bkwd    record    stride",
		"kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread",
	}
	iozoneRow  = regexp.MustCompile(`^ *(\d+) +(\d+)( .*)?$`)
	iozoneCell = regexp.MustCompile(`^ *(\d+)$`)
)

const iozoneTitle, iozoneVersion, iozoneEnd = "\tIozone: Performance Test of File I/O", "Version $Revision: 3.", "iozone test complete."

func iozoneFields() []Field {
	fields := []Field{{"file_size", "B"}, {"record_size", "B"}}
	for _, name := range iozoneColumns {
		fields = append(fields, Field{name, "B/s"})
	}
	return fields
}

func parseIOzone(stdout []byte) (map[string]float64, error) {
	if err := endsWithALine(stdout); err != nil {
		return nil, err
	}
	all := lines(stdout)
	if all[0] != iozoneTitle || len(all) < 2 || !strings.HasPrefix(strings.TrimSpace(all[1]), iozoneVersion) {
		return nil, fmt.Errorf("it does not begin like IOzone 3, but with %q", clip(all[0]))
	}
	var fields map[string]float64
	kilobytes, heads, complete := false, 0, false
	for _, line := range all[2:] {
		text := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(text, "Output is in "):
			if text != "Output is in kBytes/sec" {
				return nil, fmt.Errorf("only kBytes/sec are read, and %q", clip(text))
			}
			kilobytes = true
		case heads < 2 && text == iozoneHeads[heads]:
			heads++
		case text == iozoneEnd:
			complete = true
		case heads < 2 || complete || text == "":
			// The command line, and the tables for Excel.
		case fields != nil:
			return nil, fmt.Errorf("a second line in the table: %q", clip(line))
		default:
			var err error
			if fields, err = iozoneLine(line); err != nil {
				return nil, err
			}
		}
	}
	switch {
	case !kilobytes || heads < 2 || fields == nil:
		return nil, fmt.Errorf("IOzone's table is missing: %s", ending(all))
	case !complete:
		return nil, fmt.Errorf("IOzone did not complete: %s", ending(all))
	case len(fields) == 2:
		return nil, fmt.Errorf("IOzone's table has no values")
	}
	return fields, nil
}

func iozoneLine(line string) (map[string]float64, error) {
	strange := fmt.Errorf("IOzone 3 does not print such a line in its table: %q", clip(line))
	if len(line) > iozoneEnds[len(iozoneEnds)-1] || !iozoneRow.MatchString(line) {
		return nil, strange
	}
	names := append([]string{"file_size", "record_size"}, iozoneColumns...)
	fields := map[string]float64{}
	from := 0
	for i, to := range iozoneEnds {
		cell := line[min(from, len(line)):min(to, len(line))]
		from = to
		if i >= 2 && strings.TrimSpace(cell) == "" {
			continue
		}
		m := iozoneCell.FindStringSubmatch(cell)
		if m == nil {
			return nil, strange
		}
		v, err := number(m[1], line)
		if err != nil {
			return nil, err
		}
		fields[names[i]] = v * 1024
	}
	return fields, nil
}

// splitIOzone splits by IOzone's title, and a table with several lines into one
// per line.
func splitIOzone(file []byte) ([][]byte, error) {
	reports, err := splitAt(file, func(line string) bool { return line == iozoneTitle })
	if err != nil {
		return nil, err
	}
	var runs [][]byte
	for _, report := range reports {
		runs = append(runs, splitIOzoneTable(report)...)
	}
	return runs, nil
}

func splitIOzoneTable(report []byte) [][]byte {
	var head []byte
	var rows [][]byte
	tail := len(report)
	for at := 0; at < len(report); {
		end, line := nextLine(report, at)
		if strings.TrimSpace(line) == iozoneHeads[1] {
			head = report[:end]
		} else if head != nil && iozoneRow.MatchString(line) {
			rows = append(rows, report[at:end])
		} else if head != nil {
			tail = at
			break
		}
		at = end
	}
	if len(rows) < 2 {
		return [][]byte{report}
	}
	for i, row := range rows {
		rows[i] = bytes.Join([][]byte{head, row, report[tail:]}, nil)
	}
	return rows
}
