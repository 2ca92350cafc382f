package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/parity"
	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

func TestFairnessIsReported(t *testing.T) {
	in := reporttest.Unfair()
	var text, long bytes.Buffer
	if err := writeText(&text, in, model.Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if err := writeFairness(&long, parity.Summarize(in.Parity), in.Across, model.Options{Width: 80, All: true}); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "fair-all.txt", long.Bytes())
	for _, shown := range []string{text.String(), long.String()} {
		for line := range strings.Lines(shown) {
			if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
	page := reporttest.WithoutScript(htmlOf(t, in))
	for _, want := range []string{`id="parity"`, `href="#parity"`, "syncs are ignored", "json-file", `<a class="confounded"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestARunWithoutFingerprintsDoesNotSayWhetherItWasFair(t *testing.T) {
	plain := reporttest.Quick()
	for _, shown := range []string{htmlOf(t, plain), terminalOf(t, plain, model.Options{})} {
		if strings.Contains(shown, model.FairnessTitle) || strings.Contains(shown, model.Mark) {
			t.Error("a run without fingerprints says whether it was fair")
		}
	}
}

// What is inherent and yet has an effect is told in full in every format, and
// marks nothing.
func TestNotesOnInherentDifferencesAreShownInFullAndMarkNothing(t *testing.T) {
	in := reporttest.Quick()
	workload := in.Plan.Workloads[0].Name
	in.Parity = []parity.Comparison{{Environment: "docker", Baseline: "native", Workload: workload, Findings: []parity.Finding{
		{Finding: "packet filter", Class: parity.Inherent, Reason: "a reason", Effect: "an effect", Remove: "a remedy", Touches: true,
			Differences: []parity.Difference{{Fact: "network.tracked", Baseline: "on", Environment: "off"}}},
		{Finding: "user namespace", Class: parity.Inherent, Reason: "a second reason", Effect: "a second effect", Touches: true,
			Differences: []parity.Difference{{Fact: "namespaces.user", Baseline: "host", Environment: "own"}}},
		{Finding: "namespaces", Class: parity.Inherent, Reason: "why not"},
	}}}
	var short, long, md, page bytes.Buffer
	for _, err := range []error{
		writeText(&short, in, model.Options{Width: 80}), writeFairness(&long, parity.Summarize(in.Parity), in.Across, model.Options{Width: 80}), writeMarkdown(&md, in, model.Options{}), writeHTML(&page, in, model.Options{}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := "docker: no confounds found; note: packet filter (" + workload + ")"; !strings.Contains(strings.Join(strings.Fields(short.String()), " "), want) {
		t.Errorf("there is no %q in\n%s", want, short.String())
	}
	for name, out := range map[string]string{"long": long.String(), "markdown": md.String(), "page": page.String()} {
		for _, want := range []string{"packet filter", "a reason", "an effect", "a remedy", "a second effect"} {
			if !strings.Contains(strings.Join(strings.Fields(out), " "), want) {
				t.Errorf("%s: there is no %q", name, want)
			}
		}
		if n := strings.Count(strings.ToLower(out), "remove: "); n != 1 {
			t.Errorf("%s: %d times how to remove what differs, for one that can be removed", name, n)
		}
	}
	if strings.Contains(short.String(), model.Mark) {
		t.Error("something is marked")
	}
}
