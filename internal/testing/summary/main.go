// Command summary reads what `go test -json` prints and shows it as a person wants
// it: a line when a package starts and when it ends, progress in between, failures
// in full at once, and at the end the slowest tests, what was skipped, by reason,
// what failed, by name, and how many tests passed, failed and were skipped. A test
// that failed and passed when the runner ran it again has passed, and is listed.
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
	"time"

	"golang.org/x/term"
)

// options are the flags.
type options struct {
	allowed string
	strict  bool
	brief   bool
	slowest int
}

func main() {
	var o options
	flag.StringVar(&o.allowed, "allowed", "", "file of allowed reasons to skip: one regular expression a line, # starts a comment")
	flag.BoolVar(&o.strict, "strict", false, "fail when a test was skipped for a reason that is not allowed")
	flag.BoolVar(&o.brief, "brief", false, "print neither the starts of packages nor the names of skipped tests")
	flag.IntVar(&o.slowest, "slowest", 0, "print this many of the slowest tests")
	flag.Parse()
	// Ctrl-C ends the tests; what they print while ending is still wanted.
	signal.Ignore(os.Interrupt)
	width := 0
	if fd := int(os.Stdout.Fd()); term.IsTerminal(fd) {
		width, _, _ = term.GetSize(fd)
	}
	ok, err := run(os.Stdin, os.Stdout, width, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "summary:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run summarizes a stream. A width above 0 is that of the terminal which out is.
func run(in io.Reader, out io.Writer, width int, o options) (ok bool, err error) {
	var allowed []*regexp.Regexp
	if o.allowed != "" {
		text, err := os.ReadFile(o.allowed)
		if err != nil {
			return false, err
		}
		if allowed, err = readAllowed(string(text)); err != nil {
			return false, fmt.Errorf("%s: %w", o.allowed, err)
		}
	}
	p := newProgress(out, width)
	c := newCount(p)
	c.starts = !o.brief
	if err := c.read(in, p); err != nil {
		return false, err
	}
	p.clear()
	c.endOfInput()
	c.printSlowest(o.slowest)
	unwanted := c.printSkips(allowed, o.strict, !o.brief)
	c.printFailures()
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", c.passed, c.failed, c.skipped)
	return c.failed == 0 && c.passed > 0 && unwanted == 0, nil
}

// read takes in the whole stream and shows progress while it waits.
func (c *count) read(in io.Reader, p *progress) error {
	lines, failed := make(chan string), make(chan error, 1)
	go func() {
		defer close(lines)
		reader := bufio.NewReader(in)
		for {
			line, err := reader.ReadString('\n')
			if line != "" {
				lines <- line
			}
			if err != nil {
				if err != io.EOF {
					failed <- err
				}
				return
			}
		}
	}()
	tick := time.NewTicker(p.interval())
	defer tick.Stop()
	for {
		select {
		case line, more := <-lines:
			if !more {
				select {
				case err := <-failed:
					return err
				default:
					return nil
				}
			}
			c.line(line)
		case now := <-tick.C:
			p.show(c.underWay(now))
		}
	}
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
