package parse

import (
	"bytes"
	"strings"
)

// Columns have a fixed position in the line; that of a test that did not run is
// blank.
var (
	iozoneEnds    = []int{16, 24, 33, 42, 51, 60, 69, 78, 87, 97, 107, 116, 125, 134, 143}
	iozoneColumns = strings.Fields("file_size record_size write rewrite read reread random_read random_write backward_read record_rewrite stride_read fwrite frewrite fread freread")
	iozoneHeads   = [2]string{
		"random    random     bkwd    record    stride",
		"kB  reclen    write  rewrite    read    reread    read     write     read   rewrite      read   fwrite frewrite    fread  freread",
	}
	iozoneRow  = expression(`^ *(\d+) +(\d+)( .*)?$`)
	iozoneCell = expression(`^ *(\d+)$`)
)

const iozoneTitle, iozoneVersion, iozoneEnd = "\tIozone: Performance Test of File I/O", "Version $Revision: 3.", "iozone test complete."

func readIOzone(r *reading) {
	r.wholeLines()
	if r.lines[0] != iozoneTitle || len(r.lines) < 2 || !strings.HasPrefix(strings.TrimSpace(r.lines[1]), iozoneVersion) {
		fail("it does not begin like IOzone 3, but with %q", clip(r.lines[0]))
	}
	kilobytes, heads, lined, complete := false, 0, false, false
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
		case heads < 2 && text == iozoneHeads[heads]:
			heads++
		case text == iozoneEnd:
			complete = true
		case heads < 2 || complete || text == "":
			// The command line, and the tables for Excel.
		case lined:
			fail("a second line in the table: %q", clip(line))
		default:
			lined = true
			r.iozoneLine(line)
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

func (r *reading) iozoneLine(line string) {
	strange := func() { fail("IOzone 3 does not print such a line in its table: %q", clip(line)) }
	if len(line) > iozoneEnds[len(iozoneEnds)-1] || !iozoneRow.match(line) {
		strange()
	}
	from := 0
	for i, to := range iozoneEnds {
		cell := line[min(from, len(line)):min(to, len(line))]
		from = to
		if i >= 2 && strings.TrimSpace(cell) == "" {
			continue
		}
		m := iozoneCell.find(cell)
		if m == nil {
			strange()
		}
		// Of several tables the fastest of each test, and the largest sizes.
		r.fields[iozoneColumns[i]] = max(r.fields[iozoneColumns[i]], number(m[0], line)*1024)
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
		if strings.TrimSpace(line) == iozoneHeads[1] {
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
