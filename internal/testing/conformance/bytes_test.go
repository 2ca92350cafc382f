package conformance

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/agent"
)

// takeInventory prints every program with the sum of its bytes, and of everything
// below /usr what it is: its kind, rights, owners, size and, of links, target.
const takeInventory = `
cd /usr && LC_ALL=C
find bin sbin -type f -print0 | sort -z | xargs -0 sha256sum
find . -type d -printf '%p %y %m %U %G\n' -o -printf '%p %y %m %U %G %s %l\n' | sort`

// inventory is what the command above printed in an environment.
type inventory struct{ of, text string }

// One image everywhere: what differs between two environments is never what
// runs in them.
func theBytesAreTheSameEverywhere(t *testing.T, s *scene) {
	var out, errs bytes.Buffer
	exit, err := s.shared.Agent().Run(t.Context(), agent.Command{Argv: []string{"/bin/sh", "-c", takeInventory}, Stdout: &out, Stderr: &errs})
	if err != nil || !exit.OK() || errs.Len() > 0 {
		t.Fatalf("%+v, %v: %s", exit, err, errs.String())
	}
	if strings.Count(out.String(), "\n") < 1000 {
		t.Fatalf("that is no inventory of an image:\n%s", out.String())
	}
	if s.first.of == "" {
		*s.first = inventory{s.name, out.String()}
		return
	}
	here, there := differing(out.String(), s.first.text)
	for _, line := range here[:min(5, len(here))] {
		t.Errorf("only here: %s", line)
	}
	for _, line := range there[:min(5, len(there))] {
		t.Errorf("only in %s: %s", s.first.of, line)
	}
}

// differing are the lines that one text has and the other has not.
func differing(a, b string) (onlyA, onlyB []string) {
	count := map[string]int{}
	for line := range strings.Lines(a) {
		count[line]++
	}
	for line := range strings.Lines(b) {
		count[line]--
	}
	for line, n := range count {
		if n > 0 {
			onlyA = append(onlyA, line)
		} else if n < 0 {
			onlyB = append(onlyB, line)
		}
	}
	return onlyA, onlyB
}
