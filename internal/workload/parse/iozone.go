package parse

import (
	"bytes"
	"slices"
	"strings"
)

var (
	iozoneColumns = strings.Fields("file_size record_size write rewrite read reread random_read random_write backward_read record_rewrite stride_read fwrite frewrite fread freread")
	iozoneRow     = expression(`^ *(\d+) +(\d+)( .*)?$`)
	iozoneCell    = expression(`^ *(\d+)$`)
)

// iozoneTable is the form of the table in some releases. Columns have a fixed width; a test
// that did not run leaves a blank, which since 3.510 is narrower than a value.
type iozoneTable struct {
	heads  [2]string
	values []int // their widths
}

// iozoneBlanks are the widths of the blanks.
var iozoneBlanks = []int{16, 8, 9, 9, 9, 9, 9, 9, 9, 10, 10, 9, 9, 9, 9}

var iozoneTables = []iozoneTable{{
	[2]string{
		"random    random     bkwd    record    stride",
		"kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread",
	},
	iozoneBlanks,
}, {
	[2]string{ // since 3.510
		"random    random      bkwd     record     stride",
		"kB  reclen    write    rewrite      read    reread      read     write      read    rewrite       read    fwrite  frewrite     fread   freread",
	},
	[]int{16, 8, 10, 10, 10, 10, 10, 10, 10, 11, 11, 10, 10, 10, 10},
}}

const iozoneTitle, iozoneVersion, iozoneEnd = "\tIozone: Performance Test of File I/O", "Version $Revision: 3.", "iozone test complete."

func readIOzone(r *reading) {
	r.wholeLines()
	if r.lines[0] != iozoneTitle || len(r.lines) < 2 || !strings.HasPrefix(strings.TrimSpace(r.lines[1]), iozoneVersion) {
		fail("it does not begin like IOzone 3, but with %q", clip(r.lines[0]))
	}
	kilobytes, heads, lined, complete := false, 0, false, false
	var table *iozoneTable
	for _, line := range r.lines[2:] {
		text := strings.TrimSpace(line)
		switch {
		case complete && line == iozoneTitle:
			kilobytes, heads, lined, complete = false, 0, false, false // the next one
		case strings.HasPrefix(text, "Output is in "):
			if text != "Output is in kBytes/sec" {
				fail("only kBytes/sec are read, and %q", clip(text))
			}
			kilobytes = true
		case heads == 0 && iozoneTableOf(text) != nil:
			table, heads = iozoneTableOf(text), 1
		case heads == 1 && text == table.heads[1]:
			heads++
		case text == iozoneEnd:
			complete = true
		case heads < 2 || complete || text == "":
			// The command line, and the tables for Excel.
		case lined:
			fail("a second line in the table: %q", clip(line))
		default:
			lined = true
			r.iozoneLine(table, line)
		}
	}
	switch {
	case !kilobytes || heads < 2 || !lined:
		fail("IOzone's table is missing: %s", ending(r.lines))
	case !complete:
		fail("IOzone did not complete: %s", ending(r.lines))
	case len(r.fields) == 2:
		fail("IOzone's table has no values")
	}
}

func iozoneTableOf(head string) *iozoneTable {
	for i := range iozoneTables {
		if t := &iozoneTables[i]; t.heads[0] == head {
			return t
		}
	}
	return nil
}

func (r *reading) iozoneLine(t *iozoneTable, line string) {
	strange := func() { fail("IOzone 3 does not print such a line in its table: %q", clip(line)) }
	if !iozoneRow.match(line) {
		strange()
	}
	rest := line
	for i, column := range iozoneColumns {
		if blank := rest[:min(iozoneBlanks[i], len(rest))]; i >= 2 && strings.TrimSpace(blank) == "" {
			rest = rest[len(blank):]
			continue
		}
		cell := rest[:min(t.values[i], len(rest))]
		rest = rest[len(cell):]
		m := iozoneCell.find(cell)
		if m == nil {
			strange()
		}
		// Of several tables the fastest of each test, and the largest sizes.
		r.fields[column] = max(r.fields[column], number(m[0], line)*1024)
	}
	if rest != "" {
		strange()
	}
}

// splitIOzone splits by IOzone's title, and a table with several lines into one
// per line.
func splitIOzone(file []byte) ([][]byte, error) {
	reports, err := splitAt(file, func(line string) bool { return line == iozoneTitle }, ownOf(anything))
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
	for at, line := range eachLine(report) {
		if text := strings.TrimSpace(line); slices.ContainsFunc(iozoneTables, func(t iozoneTable) bool { return t.heads[1] == text }) {
			head = report[:at.end]
		} else if head != nil && iozoneRow.match(line) {
			rows = append(rows, report[at.begin:at.end])
		} else if head != nil {
			tail = at.begin
			break
		}
	}
	if len(rows) < 2 {
		return [][]byte{report}
	}
	for i, row := range rows {
		rows[i] = bytes.Join([][]byte{head, row, report[tail:]}, nil)
	}
	return rows
}
