package report

import (
	"regexp"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

var marks = regexp.MustCompile(`<[^>]*>|[*\x60\\]`)

// What a reader decides by comes first in each format, in the same words.
func TestEachFormatBeginsWithTheAnswer(t *testing.T) {
	in := reporttest.Quick()
	for name, of := range map[string]struct{ text, from, to string }{
		"text": {terminalOf(t, in, model.Options{Width: 80}), "In short", "\n\nstartup"},
		"md":   {allFormats(t, in)["md"], "In short", "\n| workload"},
		"html": {reporttest.WithoutScript(htmlOf(t, in)), "In short</h2>", "</section>"},
	} {
		_, text, found := strings.Cut(of.text, of.from)
		text, _, ended := strings.Cut(text, of.to)
		if !found || !ended {
			t.Fatalf("%s does not begin with the answer:\n%.600s", name, of.text)
		}
		text = strings.NewReplacer("−", "-", "&#43;", "+").Replace(marks.ReplaceAllString(text, ""))
		text = strings.Join(strings.Fields(text), " ")
		for _, want := range []string{
			"docker: slower in 11 of 15 comparisons (largest in startup, ready: ×13.9 [×13.4, ×14.4], n=12)",
			"CPU time for the same load: from +1.6% in syscalls to +4.5% [+2.3%, +5.4%], n=12 in sysbench-memory; +3.5% in redis, clients=50, so 4% more machines where the CPU is the limit",
			"2 comparisons undecided: in 1 the blocks vary, so that a verdict takes ~178 of them; in 1 the blocks vary too much for any number of them in reach",
			"next: tare doctor", "machine: ",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%s", name, want, text)
			}
		}
	}
}
