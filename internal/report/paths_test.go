package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/study"
	"tare/internal/testing/reporttest"
)

func TestDifferentDisksGiveAWarning(t *testing.T) {
	in := reporttest.Quick()
	for format, write := range map[string]func(*bytes.Buffer) error{
		"terminal": func(b *bytes.Buffer) error { return writeText(b, in, model.Options{Width: 500}) },
		"Markdown": func(b *bytes.Buffer) error { return writeMarkdown(b, in, model.Options{}) },
		"HTML":     func(b *bytes.Buffer) error { return writeHTML(b, in, model.Options{}) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer("&#39;", "'", "<strong>", "", "</strong>", "", "**", "").Replace(out.String())
		for _, want := range []string{
			"WARNING: root file systems: on different file systems of the host, so the comparison includes the disks: ext4 on nvme0n1p2 (native, vm [tcg]); xfs on nvme1n1 (docker, gvisor)",
			"gVisor's network stack, veth pair, the engine's bridge", "qcow2 file, cache writeback, threads",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q", format, want)
			}
		}
		if strings.Contains(text, "WARNING: /data") {
			t.Errorf("%s warns of /data, which is on the same", format)
		}
	}
	// The same everywhere is no warning.
	in.Trials = slices.Clone(in.Trials)
	for i := range in.Trials {
		if in.Trials[i].Paths != nil {
			in.Trials[i].Paths = reporttest.Paths("native")
		}
	}
	if warnings := warningsOf(in, "disks"); len(warnings) > 0 {
		t.Errorf("%v", warnings)
	}
}

func TestDifferentMachinesGiveAWarning(t *testing.T) {
	in := reporttest.Quick()
	plan := *in.Plan
	plan.Hosts = map[string]study.Host{"far": {SSH: "ubuntu@192.0.2.7"}}
	plan.Environments = slices.Clone(plan.Environments)
	for i := range plan.Environments {
		switch e := &plan.Environments[i]; e.Name {
		case "docker", "podman": // podman did not work there
			e.Host = "far"
		case "gvisor":
			e.Inside = &study.Environment{Name: "outer", Host: "far"}
		}
	}
	in.Plan = &plan
	for format, write := range map[string]func(*bytes.Buffer) error{
		"terminal": func(b *bytes.Buffer) error { return writeText(b, in, model.Options{Width: 500}) },
		"Markdown": func(b *bytes.Buffer) error { return writeMarkdown(b, in, model.Options{}) },
		"HTML":     func(b *bytes.Buffer) error { return writeHTML(b, in, model.Options{}) },
	} {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		text := strings.NewReplacer("<strong>", "", "</strong>", "", "**", "").Replace(out.String())
		for _, want := range []string{
			"WARNING: docker, gvisor run on host far, native on this machine: the comparison includes the machines",
			"on host far (ubuntu@192.0.2.7)",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q", format, want)
			}
		}
	}
	// All on one machine, whichever it is, is no warning.
	for i := range plan.Environments {
		plan.Environments[i].Host, plan.Environments[i].Inside = "far", nil
	}
	if warnings := warningsOf(in, "machines"); len(warnings) > 0 {
		t.Errorf("%v", warnings)
	}
}

// warningsOf are the warnings of a run about disks or machines that differ.
func warningsOf(in model.Input, about string) []model.Note {
	return slices.DeleteFunc(model.New(in).Notes, func(n model.Note) bool {
		return n.Environment != "WARNING" || !strings.Contains(n.Text, about)
	})
}
