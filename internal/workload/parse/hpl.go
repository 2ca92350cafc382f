package parse

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var hpl = Parser{
	Name:     "hpl",
	About:    "High-Performance Linpack: HPL.out, and the hpccoutf.txt of HPC Challenge; exactly one result, whose residual check passed",
	Versions: "HPLinpack 2.0 in HPC Challenge 1.5.0; the form of 2.1 to 2.3",
	Fields: []Field{
		{"gflops", "Gflop/s"}, {"seconds", "s"}, {"n", "1"}, {"nb", "1"}, {"p", "1"}, {"q", "1"},
		{"residual", "1"}, {"passed", "1"},
		// Not of HPL: a driver that knows the cores prints "efficiency SHARE of
		// ...".
		{"efficiency", "1"},
	},
	Parse:    parseHPL,
	Split:    splitHPL,
	Settings: settingsIn(`^HPLinpack (?P<version>\S+)`, `^W[RC]\d\w+ +(?P<n>\d+) +(?P<nb>\d+) +(?P<p>\d+) +(?P<q>\d+) +[0-9.]+ +[0-9.e+-]+$`),
}

var (
	hplTitle  = regexp.MustCompile(`^HPLinpack (\d+)\.\d+`)
	hplHead   = regexp.MustCompile(`^T/V +N +NB +P +Q +Time +Gflops$`)
	hplResult = regexp.MustCompile(`^W[RC]\d\w+ +(\d+) +(\d+) +(\d+) +(\d+) +([0-9.]+) +([0-9.e+-]+)$`)
	hplCheck  = regexp.MustCompile(`^\|\|Ax-b\|\|_oo/\(.*\)= +([0-9.e+-]+|-?nan|inf) \.{6} (\w+)$`)
	hplShare  = regexp.MustCompile(`^efficiency ([0-9.]+) of`)
	hplFailed = regexp.MustCompile(`^ *[1-9]\d* tests (completed and failed residual checks|skipped because of illegal input values)[,.]$`)
)

func parseHPL(stdout []byte) (map[string]float64, error) {
	if err := endsWithALine(stdout); err != nil {
		return nil, err
	}
	fields, all := map[string]float64{}, lines(stdout)
	titled, ended, result, failed := false, false, "", ""
	for _, line := range all {
		if m := hplTitle.FindStringSubmatch(line); m != nil {
			if m[1] != "2" {
				return nil, fmt.Errorf("the output of %q is not supported; this parser supports HPLinpack 2", clip(line))
			}
			titled = true
		} else if m := hplResult.FindStringSubmatch(line); m != nil {
			if result != "" {
				return nil, fmt.Errorf("two results; after %q comes %q", clip(result), clip(line))
			}
			result = line
			if err := take(fields, line, m[1:], "n", "nb", "p", "q", "seconds", "gflops"); err != nil {
				return nil, err
			}
		} else if strings.HasPrefix(line, "WR") || strings.HasPrefix(line, "WC") {
			return nil, fmt.Errorf("HPL does not print such a result: %q", clip(line))
		} else if m := hplCheck.FindStringSubmatch(line); m != nil {
			if m[2] != "PASSED" || result == "" {
				return nil, fmt.Errorf("the residual check failed: %q", clip(line))
			}
			if err := take(fields, line, m[1:], "residual"); err != nil {
				return nil, err
			}
			fields["passed"] = 1
		} else if m := hplShare.FindStringSubmatch(line); m != nil {
			if err := take(fields, line, m[1:], "efficiency"); err != nil {
				return nil, err
			}
		} else if hplFailed.MatchString(line) {
			failed = strings.TrimSpace(line) // before a result it is PTRANS's, another part of HPC Challenge
			if result != "" {
				return nil, fmt.Errorf("not all tests ended well: %q", clip(failed))
			}
		} else if line == "End of Tests." {
			ended = true
		}
	}
	switch {
	case !titled:
		return nil, fmt.Errorf("no line names HPLinpack; the first is %q", clip(all[0]))
	case result == "" && failed != "":
		return nil, fmt.Errorf("HPL printed no result: %q", clip(failed))
	case result == "":
		return nil, fmt.Errorf("HPL printed no result: %s", ending(all))
	case fields["passed"] != 1:
		return nil, fmt.Errorf("no residual check follows the result %q", clip(result))
	case !ended:
		return nil, fmt.Errorf("HPL's report is truncated: %s", ending(all))
	}
	return fields, nil
}

// splitHPL splits by report: HPC Challenge's, which names HPLinpack twice, or
// HPL's. A report with several results becomes several reports of one result:
// its head, the result, and its end without the count of tests.
func splitHPL(file []byte) ([][]byte, error) {
	title := func(line string) bool { return hplTitle.MatchString(line) }
	if bytes.Contains(file, []byte("HPC Challenge Benchmark version")) {
		title = func(line string) bool {
			return strings.HasPrefix(line, "This is the DARPA/DOE HPC Challenge Benchmark")
		}
	}
	// The ruler above a title belongs to the previous report; it is not parsed.
	rule := func(line string) bool { return line != "" && strings.Trim(line, "=#") == "" }
	begin := 0
	for begin < len(file) {
		end, line := nextLine(file, begin)
		if line != "" && !rule(line) {
			break
		}
		begin = end
	}
	reports, err := splitAt(file[begin:], title)
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
	for at := 0; at < len(report); {
		end, line := nextLine(report, at)
		switch {
		case hplHead.MatchString(line):
			heads = append(heads, at)
			whole = whole && tail == 0
		case strings.HasPrefix(line, "Finished ") && len(heads) > 0 && tail == 0:
			tail = at
		case line == "End of Tests." && tail > 0:
			ended = true
		}
		at = end
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
