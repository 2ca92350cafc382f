package report

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/evidence"
	"tare/internal/rundir"
	"tare/internal/sample"
	"tare/internal/study"
	"tare/internal/workload"
)

// tracedInput is a run with two traced trials on each side, and one that failed.
func tracedInput() Input {
	figures := func(seconds float64) map[string]sample.Figure {
		return map[string]sample.Figure{evidence.InKernel: sample.Known(seconds), "kernel.overlay": sample.Known(seconds / 2), evidence.Syscalls: sample.Known(seconds)}
	}
	trial := func(environment string, seconds float64) rundir.Trial {
		return rundir.Trial{Block: 4, Position: 1, Environment: environment, Workload: "nginx", Status: rundir.OK, Traced: true,
			Metrics: map[string]float64{"requests": 1000},
			Evidence: &evidence.Evidence{Seconds: 1, Times: figures(seconds), Notes: []string{"<a remark>"},
				Counts: map[string]sample.Figure{evidence.Syscalls: sample.Known(5000), evidence.Voluntary: sample.Absent("it is refused")}}}
	}
	failed := trial("docker", 1000)
	failed.Status, failed.Reason = rundir.Failed, "it broke"
	return Input{
		Plan: &study.Plan{Study: "evidence", Baseline: "native",
			Environments: []study.Environment{{Name: "native", Kind: "native"}, {Name: "docker", Kind: "docker"}},
			Workloads:    []study.Workload{{Name: "nginx", Levels: []study.Level{{}}, Pack: workload.Pack{Operations: "requests"}}}},
		Traced: []rundir.Trial{trial("native", .1), trial("native", .1), trial("docker", .2), trial("docker", .2), failed},
	}
}

func TestTheReportShowsWhatTheKernelDid(t *testing.T) {
	for format, write := range map[string]func(*bytes.Buffer, Input) error{
		"text":     func(b *bytes.Buffer, in Input) error { return Terminal(b, in, TerminalOptions{}) },
		"markdown": func(b *bytes.Buffer, in Input) error { return Markdown(b, in) },
		"html":     func(b *bytes.Buffer, in Input) error { return HTML(b, in) },
	} {
		var b bytes.Buffer
		if err := write(&b, tracedInput()); err != nil {
			t.Fatalf("%s: %v", format, err)
		}
		for _, want := range []string{"nginx: docker beside native", "where the processors were", "100 µs", "200 µs", "overlay", "it is refused"} {
			if !strings.Contains(strings.ReplaceAll(b.String(), "&#43;", "+"), want) {
				t.Errorf("%s lacks %q:\n%s", format, want, b.String())
			}
		}
		if format == "html" && strings.Contains(b.String(), "<a remark>") {
			t.Error("a remark is taken for a tag")
		}
		b.Reset()
		in := tracedInput()
		in.Traced = nil
		if err := write(&b, in); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(b.String(), kernelTitle) {
			t.Errorf("%s has the heading without anything traced", format)
		}
	}
}
