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
			"redis slower (n=12): get from -4.6% [-6.6%, -1.6%] at clients=10 to -8.5% [-12.6%, -4.2%] at clients=200, ",
			"+2.8% to +3.5% in redis; the machines needed change alike where the CPU is the limit; +3.0% over all 10 workloads and levels (geomean)",
			"slower (n=12): startup ×13.9 [×13.4, ×14.4], nginx -8.2% [-10.0%, -4.7%], syscalls -7.0% [-7.9%, -6.0%]",
			"equivalent (n=12): sysbench-cpu +0.4% [-0.1%, +0.8%]",
			"fio-randwrite (~178 blocks), fio-randread (over 1000 blocks): they vary more from block to block than they differ",
			"slower in 13 of 13 comparisons (most in startup: ×49.1 [×46.8, ×51.2], n=12); this guest ran under software emulation",
			"n: blocks with a value on both sides; the chance of a verdict of a difference that is not there is at most 5% per metric, at any n.",
			"next: tare explain redis --study quick --from native --to gvisor --budget 5m", "repeat: tare rerun quick-20261121-014500", "machine: ",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%s", name, want, text)
			}
		}
	}
}
