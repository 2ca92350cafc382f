package parse

import (
	"bytes"
	"slices"
	"strings"
)

var (
	hplTitle  = expression(`^HPLinpack (\d+)\.\d+`)
	hplHead   = expression(`^T/V +N +NB +P +Q +Time +Gflops$`)
	hplResult = expression(`^W[RC]\d\w+ +(\d+) +(\d+) +(\d+) +(\d+) +([0-9.]+) +([0-9.e+-]+)$`)
	hplCheck  = expression(`^\|\|Ax-b\|\|_oo/\(.*\)= +([0-9.e+-]+|-?nan|inf) \.{6} (\w+)$`)
	hplShare  = expression(`^efficiency ([0-9.]+) of`)
	hplFailed = expression(`^ *[1-9]\d* tests (completed and failed residual checks|skipped because of illegal input values)[,.]$`)
)

func readHPL(r *reading) {
	titled, ended, result, failed := false, false, "", ""
	for _, line := range r.each(r.lines) {
		if m := hplTitle.find(line); m != nil {
			if m[0] != "2" {
				fail("the output of %q is not supported; this parser supports HPLinpack 2", clip(line))
			}
			titled = true
		} else if m := hplResult.find(line); m != nil {
			if result != "" {
				fail("two results; after %q comes %q", clip(result), clip(line))
			}
			result = line
			r.take(line, m, "n", "nb", "p", "q", "seconds", "gflops")
		} else if strings.HasPrefix(line, "WR") || strings.HasPrefix(line, "WC") {
			fail("%q is no result that tare knows of HPL", clip(line))
		} else if m := hplCheck.find(line); m != nil {
			if m[1] != "PASSED" || result == "" {
				fail("the residual check failed: %q", clip(line))
			}
			r.take(line, m, "residual")
			r.fields["passed"] = 1
		} else if m := hplShare.find(line); m != nil {
			r.take(line, m, "efficiency")
		} else if hplFailed.match(line) {
			failed = strings.TrimSpace(line) // before a result it is PTRANS's, another part of HPC Challenge
			if result != "" {
				fail("not all tests ended well: %q", clip(failed))
			}
		} else if line == "End of Tests." {
			ended = true
		}
	}
	switch {
	case !titled:
		fail("no line names HPLinpack; the first is %q", clip(r.lines[0]))
	case result == "" && failed != "":
		fail("HPL printed no result: %q", clip(failed))
	case result == "":
		fail("HPL printed no result: %s", ending(r.lines))
	case r.fields["passed"] != 1:
		fail("no residual check follows the result %q", clip(result))
	case !ended:
		fail("HPL's report is truncated: %s", ending(r.lines))
	}
}

// splitHPL splits by report: HPC Challenge's, which names HPLinpack twice, or
// HPL's. A report with several results becomes several reports of one result:
// its head, the result, and its end without the count of tests.
func splitHPL(file []byte) ([][]byte, error) {
	title := func(line string) bool { return hplTitle.match(line) }
	if bytes.Contains(file, []byte("HPC Challenge Benchmark version")) {
		title = func(line string) bool {
			return strings.HasPrefix(line, "This is the DARPA/DOE HPC Challenge Benchmark")
		}
	}
	// The ruler above a title belongs to the previous report; it is not parsed.
	rule := func(line string) bool { return line != "" && strings.Trim(line, "=#") == "" }
	begin := len(file)
	for at, line := range eachLine(file) {
		if line != "" && !rule(line) {
			begin = at.begin
			break
		}
	}
	reports, err := splitAt(file[begin:], title, ownOf(anything))
	if err != nil {
		return nil, err
	}
	var runs [][]byte
	for _, report := range reports {
		runs = append(runs, splitHPLResults(report)...)
	}
	return runs, nil
}

// splitHPLResults keeps a report with one result as it is, and so one with an
// unexpected end, which Parse reports.
func splitHPLResults(report []byte) [][]byte {
	var heads []int
	tail, ended, whole := 0, false, true
	for at, line := range eachLine(report) {
		switch {
		case hplHead.match(line):
			heads = append(heads, at.begin)
			whole = whole && tail == 0
		case strings.HasPrefix(line, "Finished ") && len(heads) > 0 && tail == 0:
			tail = at.begin
		case line == "End of Tests." && tail > 0:
			ended = true
		}
	}
	if len(heads) < 2 || !ended || !whole {
		return [][]byte{report}
	}
	var runs [][]byte
	for i, head := range heads {
		end := tail
		if i+1 < len(heads) {
			end = heads[i+1]
		}
		run := slices.Concat(report[:heads[0]], report[head:end], []byte("End of Tests.\n"))
		runs = append(runs, run)
	}
	return runs
}
