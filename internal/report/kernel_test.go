package report

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

func TestTheReportShowsWhatTheKernelDid(t *testing.T) {
	for format, write := range map[string]func(*bytes.Buffer, model.Input) error{
		"text":     func(b *bytes.Buffer, in model.Input) error { return writeText(b, in, model.Options{}) },
		"markdown": func(b *bytes.Buffer, in model.Input) error { return writeMarkdown(b, in, model.Options{}) },
		"html":     func(b *bytes.Buffer, in model.Input) error { return writeHTML(b, in, model.Options{}) },
	} {
		var b bytes.Buffer
		if err := write(&b, reporttest.Traced()); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		for _, want := range []string{"nginx: docker vs native", "CPU time by mode and kernel subsystem", "100 µs", "200 µs", "overlay", "it is refused"} {
			if !strings.Contains(strings.ReplaceAll(b.String(), "&#43;", "+"), want) {
				t.Errorf("%s lacks %q:\n%s", format, want, b.String())
			}
		}
		if format == "html" && strings.Contains(b.String(), "<a remark>") {
			t.Error("a remark is taken for a tag")
		}
		b.Reset()
		in := reporttest.Traced()
		in.Traced = nil
		if err := write(&b, in); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), "Kernel events") {
			t.Errorf("%s has the heading without anything traced", format)
		}
	}
}
