package report

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/parity"
	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
)

func TestARunOverNodesIsReportedByNode(t *testing.T) {
	in := reporttest.OnNodes("node-a", "node-b", "node-c+node-d")
	for format, write := range formats(in) {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		text := unescaped(out.String())
		for _, want := range []string{"12 blocks on 3 nodes (4, 4, 4)", "mean of nodes", "node-c+node-d", "standard deviation ", "the change differs between nodes (p = "} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q", format, want)
			}
		}
	}
	var out bytes.Buffer
	if err := writeMarkdown(&out, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(out.String(), "## Nodes\n")
	section, _, _ = strings.Cut(section, "\n## ")
	reporttest.Golden(t, "nodes.md", []byte("## Nodes\n"+section))
	out.Reset()
	if err := writeText(&out, in, model.Options{Width: 100}); err != nil {
		t.Fatal(err)
	}
	_, section, _ = strings.Cut(out.String(), "\nNodes\n")
	section, _, _ = strings.Cut(section, "\n\n")
	reporttest.Golden(t, "nodes.txt", []byte("Nodes\n"+section+"\n"))
}

func TestWhatDiffersBetweenNodesIsReported(t *testing.T) {
	in := reporttest.OnNodes("node-a", "node-b")
	in.Parity = reporttest.Unfair().Parity
	in.Across = parity.Nodes{Names: []string{"node-a", "node-b"}, Differ: []parity.NodeFact{{
		Fact: "node[kernel]", Environments: []string{"docker", "gvisor"},
		Values: []parity.NodeValue{{Value: "6.1", Nodes: []string{"node-a"}}, {Value: "6.8", Nodes: []string{"node-b"}}},
	}}}
	const line = "node[kernel]: 6.1 on node-a; 6.8 on node-b (in docker, gvisor)"
	all := formats(in)
	all["parity"] = func(out *bytes.Buffer) error {
		return writeFairness(out, nil, in.Across, model.Options{Width: 120})
	}
	for format, write := range all {
		var out bytes.Buffer
		if err := write(&out); err != nil {
			t.Fatal(err)
		}
		if text := unescaped(out.String()); !strings.Contains(text, line) || !strings.Contains(text, "The 2 nodes differ in 1 fact:") {
			t.Errorf("%s does not say what differs between nodes", format)
		}
	}
}

func TestARunOnOneNodeIsReportedAsOneWithout(t *testing.T) {
	in, quick := reporttest.OnNodes("node-a"), reporttest.Quick()
	for i := range in.Trials {
		in.Trials[i].Metrics = quick.Trials[i].Metrics
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	without := formats(quick)
	for format, write := range formats(in) {
		var one, other bytes.Buffer
		if err := write(&one); err != nil {
			t.Fatal(err)
		}
		if err := without[format](&other); err != nil {
			t.Fatal(err)
		}
		if one.String() != other.String() {
			t.Errorf("%s of a run on one node differs", format)
		}
	}
}

func formats(in model.Input) map[string]func(*bytes.Buffer) error {
	return map[string]func(*bytes.Buffer) error{
		"terminal": func(b *bytes.Buffer) error { return writeText(b, in, model.Options{Width: 500}) },
		"Markdown": func(b *bytes.Buffer) error { return writeMarkdown(b, in, model.Options{}) },
		"HTML":     func(b *bytes.Buffer) error { return writeHTML(b, in, model.Options{}) },
	}
}

func unescaped(text string) string {
	return strings.NewReplacer("&#39;", "'", "&#43;", "+", "\\", "").Replace(text)
}
