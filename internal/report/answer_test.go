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
			"redis slower (n=12): get from -4.6% [-6.6%, -1.6%] (direction only) at clients=10 to -8.5% [-12.6%, -4.2%] (direction only) at clients=200, ",
			"slower (n=12): startup ×13.9 [×13.4, ×14.4], nginx -8.2% [-10.0%, -4.7%], syscalls -7.0% [-7.9%, -6.0%]",
			"equivalent (n=12): sysbench-cpu +0.4% [-0.1%, +0.8%]",
			"fio-randwrite (~178 blocks), fio-randread (over 1000 blocks)",
			"nothing to act on: this guest ran under software emulation: its figures say nothing about a virtual machine with KVM",
			"safe to act on: decided; interval, as a ratio, no wider than the change (or ±2%).",
			"n: blocks with both sides, of 12: failed trials have none. Changes are within blocks, values beside them the medians of all. False differences: at most 5% a metric, at any n.",
			"next: tare explain --of quick-20261121-014500 --budget 5m", "repeat: tare rerun quick-20261121-014500", "machine: ",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%s", name, want, text)
			}
		}
	}
}
