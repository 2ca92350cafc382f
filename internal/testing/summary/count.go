package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is what `go test -json` prints; `go doc test2json` describes it.
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// test is one that has started and not ended yet.
type test struct {
	output    strings.Builder
	subtests  int // that have ended
	subfailed int
}

// packageRun is one package's tests.
type packageRun struct {
	output                  strings.Builder
	running                 map[string]*test
	last                    string // the test that started last
	again                   string // the package whose failed tests run once more here
	recovered               []string
	since                   time.Time
	passed, failed, skipped int
}

// timing is how long one test took.
type timing struct {
	name    string
	seconds float64
}

// skip is a test that did not run, by its full name.
type skip struct{ name, reason string }

// failure is a test that failed, and what it said first.
type failure struct{ name, words string }

func (f failure) String() string { return strings.TrimSuffix(f.name+": "+f.words, ": ") }

// count adds up. A test with subtests is not counted beside them, except where
// it failed and none of them did.
type count struct {
	out                     io.Writer
	packages                map[string]*packageRun
	skips                   []skip
	starts                  bool     // whether the start of a package is shown
	timings                 []timing // of tests without subtests
	failures                []failure
	recovered               []failure // they failed, and passed when they ran again
	passed, failed, skipped int
}

func newCount(out io.Writer) *count {
	return &count{out: out, packages: map[string]*packageRun{}}
}

func (c *count) event(e event) {
	if e.Action == "build-output" {
		fmt.Fprint(c.out, e.Output)
		return
	}
	if e.Package == "" {
		return
	}
	p := c.packages[e.Package]
	if p == nil {
		p = &packageRun{running: map[string]*test{}, since: time.Now()}
		if name, again := strings.CutSuffix(e.Package, again); again {
			p.again = name
		}
		c.packages[e.Package] = p
	}
	if e.Test == "" {
		c.packageEvent(p, e)
		return
	}
	t := p.running[e.Test]
	if t == nil {
		t = &test{}
		p.running[e.Test] = t
	}
	switch e.Action {
	case "run", "cont":
		p.last = e.Test
	case "output":
		t.output.WriteString(e.Output)
	case "pass", "fail", "skip":
		delete(p.running, e.Test)
		c.ended(p, e, t)
	}
}

func (c *count) ended(p *packageRun, e event, t *test) {
	if t.subtests == 0 {
		c.timings = append(c.timings, timing{e.Package + " " + e.Test, e.Elapsed})
	}
	if parent := p.running[parentOf(e.Test)]; parent != nil {
		parent.subtests++
		if e.Action == "fail" {
			parent.subfailed++
		}
	}
	switch {
	case p.again != "" && e.Action == "pass":
		p.recovered = append(p.recovered, p.again+" "+e.Test)
	case p.again != "" && e.Action == "fail" && t.subfailed == 0:
		p.failed++
		c.show("FAILED", e.Package+" "+e.Test, t.output.String())
	case p.again != "":
	case e.Action == "fail" && t.subfailed == 0:
		p.failed++
		c.failure(e.Package+" "+e.Test, t.output.String())
	case e.Action == "fail" && message.MatchString(t.output.String()):
		c.show("which is a part of", e.Package+" "+e.Test, t.output.String())
	case e.Action == "skip":
		p.skipped++
		c.skips = append(c.skips, skip{e.Package + " " + e.Test, reasonIn(t.output.String())})
	case e.Action == "pass" && t.subtests == 0:
		p.passed++
	}
}

// parentOf is the test that a subtest belongs to, or "".
func parentOf(name string) string {
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		return name[:i]
	}
	return ""
}

// failure shows a failure in full, and keeps its name and first words for the end.
func (c *count) failure(name, output string) {
	f := failure{name: name}
	if words := message.FindStringSubmatch(output); words != nil {
		f.words = strings.TrimSpace(words[1])
	}
	c.failures = append(c.failures, f)
	c.show("FAILED", name, output)
}

func (c *count) show(what, name, output string) {
	fmt.Fprintf(c.out, "\n%s  %s\n", what, name)
	for line := range strings.Lines(output) {
		if !strings.HasPrefix(strings.TrimLeft(line, " "), "=== ") {
			fmt.Fprint(c.out, "    ", line)
		}
	}
	fmt.Fprintln(c.out)
}

func (c *count) packageEvent(p *packageRun, e event) {
	switch e.Action {
	case "start":
		if c.starts {
			fmt.Fprintf(c.out, "start   %s\n", e.Package)
		}
	case "output":
		p.output.WriteString(e.Output)
	case "pass", "fail":
		c.packageEnded(p, e.Package, e.Action == "fail", e.Elapsed)
	case "skip": // it has no tests
		delete(c.packages, e.Package)
	}
}

// packageEnded adds a package to the whole. One that failed takes with it what
// was running then: a panic, a time limit or an exit leaves no other trace.
func (c *count) packageEnded(p *packageRun, name string, failed bool, elapsed float64) {
	if p.again != "" {
		c.againEnded(p, name, failed, elapsed)
		return
	}
	for _, test := range slices.Sorted(maps.Keys(p.running)) {
		t := p.running[test]
		p.failed++
		c.failure(name+" "+test+" (did not end)", t.output.String())
	}
	if failed && p.failed == 0 {
		p.failed++
		c.failure(name, p.output.String())
	}
	word := "ok    "
	if p.failed > 0 {
		word = "FAILED"
	}
	fmt.Fprintf(c.out, "%s  %-36s %7.1f s  %s\n", word, name, elapsed, p.words())
	c.passed += p.passed
	c.failed += p.failed
	c.skipped += p.skipped
	delete(c.packages, name)
}

// again is how the runner ends the name of a package of which failed tests run once more.
const again = " (again)"

// againEnded takes a test that passed this time from the failed to the passed ones,
// where the whole program passed.
func (c *count) againEnded(p *packageRun, name string, failed bool, elapsed float64) {
	word := "FAILED"
	for n, f := range slices.Backward(c.failures) {
		if !failed && slices.Contains(p.recovered, f.name) {
			word = "ok    "
			c.failures = slices.Delete(c.failures, n, n+1)
			c.recovered = append(c.recovered, f)
			c.failed--
			c.passed++
		}
	}
	fmt.Fprintf(c.out, "%s  %-36s %7.1f s\n", word, name, elapsed)
	delete(c.packages, name)
}

func (p *packageRun) words() string {
	text := fmt.Sprintf("%d passed", p.passed)
	if p.failed > 0 {
		text += fmt.Sprintf(", %d failed", p.failed)
	}
	if p.skipped > 0 {
		text += fmt.Sprintf(", %d skipped", p.skipped)
	}
	return text
}

// endOfInput counts packages whose end was never told as failed.
func (c *count) endOfInput() {
	for _, name := range slices.Sorted(maps.Keys(c.packages)) {
		c.packageEnded(c.packages[name], name, true, 0)
	}
}

// message matches what a test logs, behind the file and line.
var message = regexp.MustCompile(`(?m)^\s*[\w.-]+\.go:\d+: (.*)`)

// reasonIn finds why a test was skipped: the last line that says what it needs,
// since testscript prints its whole log after the reason, or else the last line.
func reasonIn(output string) string {
	words := message.FindAllStringSubmatch(output, -1)
	if len(words) == 0 {
		return "no reason given"
	}
	for _, w := range slices.Backward(words) {
		if strings.HasPrefix(w[1], "needs ") {
			return strings.TrimSpace(w[1])
		}
	}
	return strings.TrimSpace(words[len(words)-1][1])
}

// printFailures lists once more what failed: it stands far above by then.
func (c *count) printFailures() {
	for _, list := range []struct {
		title string
		of    []failure
	}{{"failed, and passed when they ran again alone:", c.recovered}, {"failed:", c.failures}} {
		if len(list.of) > 0 {
			fmt.Fprintf(c.out, "\n%s\n", list.title)
		}
		for _, f := range list.of {
			fmt.Fprintf(c.out, "         %s\n", f)
		}
	}
}

// underWay is a line for each package whose tests run.
func (c *count) underWay(now time.Time) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(c.packages)) {
		p := c.packages[name]
		line := fmt.Sprintf("%s %.0f s, %s", name, now.Sub(p.since).Seconds(), p.words())
		if p.running[p.last] != nil {
			line += ", now " + p.last
		}
		lines = append(lines, line)
	}
	return lines
}

// printSlowest lists the tests that took longest.
func (c *count) printSlowest(n int) {
	if n = min(n, len(c.timings)); n == 0 {
		return
	}
	slices.SortStableFunc(c.timings, func(a, b timing) int { return cmp.Compare(b.seconds, a.seconds) })
	fmt.Fprintf(c.out, "\nthe %d slowest tests:\n", n)
	for _, t := range c.timings[:n] {
		fmt.Fprintf(c.out, "%7.1f s  %s\n", t.seconds, t.name)
	}
}

// printSkips lists the skipped tests by reason and returns how many were
// skipped for a reason that is not allowed.
func (c *count) printSkips(allowed []*regexp.Regexp, strict, names bool) (unwanted int) {
	byReason := map[string][]string{}
	for _, s := range c.skips {
		byReason[s.reason] = append(byReason[s.reason], s.name)
	}
	fmt.Fprintln(c.out)
	if len(byReason) > 0 {
		fmt.Fprintln(c.out, "skipped, by reason:")
	}
	for _, reason := range slices.Sorted(maps.Keys(byReason)) {
		skipped := byReason[reason]
		mark := ""
		if strict && !slices.ContainsFunc(allowed, func(r *regexp.Regexp) bool { return r.MatchString(reason) }) {
			unwanted += len(skipped)
			mark = "   <- not allowed here"
		}
		fmt.Fprintf(c.out, "%5d  %s%s\n", len(skipped), reason, mark)
		for _, name := range skipped {
			if names || mark != "" {
				fmt.Fprintf(c.out, "         %s\n", name)
			}
		}
	}
	if unwanted > 0 {
		fmt.Fprintf(c.out, "%d skipped for reasons that are not allowed on a machine where all can be installed\n", unwanted)
	}
	return unwanted
}
