// Command testsummary reads what `go test -json` prints and says it as a person
// wants it: a line for each package, failures in full at once, and at the end
// what was skipped, by reason, what failed, by name, and how many passed, failed
// and were skipped.
//
// With -strict a skip whose reason is not among the allowed ones fails the run:
// where everything can be installed, a test that did not run has a cause.
//
// It must not know which tests there are.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"strings"
)

func main() {
	allowed := flag.String("allowed", "", "file of allowed reasons to skip: one regular expression a line, # starts a comment")
	strict := flag.Bool("strict", false, "fail when a test was skipped for a reason that is not allowed")
	flag.Parse()
	// Ctrl-C ends the tests; what they print while ending is still wanted.
	signal.Ignore(os.Interrupt)
	ok, err := run(os.Stdin, os.Stdout, *allowed, *strict)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testsummary:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer, allowedFile string, strict bool) (ok bool, err error) {
	var allowed []*regexp.Regexp
	if allowedFile != "" {
		text, err := os.ReadFile(allowedFile)
		if err != nil {
			return false, err
		}
		if allowed, err = readAllowed(string(text)); err != nil {
			return false, fmt.Errorf("%s: %w", allowedFile, err)
		}
	}
	c := newCount(out)
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			c.line(line)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return false, err
		}
	}
	c.endOfInput()
	unwanted := c.printSkips(allowed, strict)
	c.printFailures()
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", c.passed, c.failed, c.skipped)
	return c.failed == 0 && c.passed > 0 && unwanted == 0, nil
}

func readAllowed(text string) ([]*regexp.Regexp, error) {
	var all []*regexp.Regexp
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		pattern, err := regexp.Compile(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number+1, err)
		}
		all = append(all, pattern)
	}
	return all, nil
}

// line takes one line of the stream; what is no event is passed on as it is.
func (c *count) line(line string) {
	var e event
	if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
		fmt.Fprint(c.out, line)
		return
	}
	c.event(e)
}
