package html

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tare/internal/parity"
	"tare/internal/testing/needs"
	"tare/internal/testing/reporttest"
)

// The theme of the system is dark, and the paper is white all the same.
func TestThePagePrintsAsACleanDocument(t *testing.T) {
	needs.Program(t, "chromium", "pdftotext", "pdftoppm")
	directory := t.TempDir()
	page, paper := filepath.Join(directory, "report.html"), filepath.Join(directory, "report.pdf")
	in := reporttest.Percentiles()
	in.Parity = []parity.Comparison{{Environment: "gvisor", Baseline: "native", Workload: "nginx", Findings: []parity.Finding{{Finding: "mount options", Class: parity.Inherent, Reason: "a reason",
		Differences: []parity.Difference{{Fact: "path[/].options", Baseline: strings.Repeat("discard,", 40), Environment: strings.Repeat("relatime,", 40)}}}}}}
	if err := os.WriteFile(page, []byte(htmlOf(t, in)), 0o600); err != nil {
		t.Fatal(err)
	}
	chromium(t, "file://"+page, "--blink-settings=preferredColorScheme=0", "--no-pdf-header-footer", "--print-to-pdf="+paper)
	run := func(program string, arguments ...string) string {
		out, err := exec.CommandContext(t.Context(), program, arguments...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", program, err, out)
		}
		return string(out)
	}
	text := run("pdftotext", "-layout", paper, "-")
	for _, want := range []string{"All comparisons of nginx as a table", "CPU time per thousand", "Difference from native in each block", "p99", "Provenance", "redis-benchmark -h 127.0.0.1"} {
		if !strings.Contains(text, want) {
			t.Errorf("the print has no %q", want)
		}
	}
	for _, unwanted := range []string{"Theme:", "All trials:", "Block by block", "▼"} {
		if strings.Contains(text, unwanted) {
			t.Errorf("the print has %q", unwanted)
		}
	}
	pages := strings.Split(strings.TrimSuffix(text, "\f"), "\f")
	for i, one := range pages {
		if number := strconv.Itoa(i+1) + " / " + strconv.Itoa(len(pages)); !strings.HasSuffix(strings.TrimSpace(one), number) || len(strings.Fields(one)) < 4 {
			t.Errorf("page %d does not end with %s, or is empty:\n%s", i+1, number, one)
		}
	}
	bounds := run("pdftotext", "-bbox", paper, "-")
	width := regexp.MustCompile(`<page width="([0-9.]+)"`).FindStringSubmatch(bounds)
	if width == nil {
		t.Fatal("no page has a width")
	}
	edge, _ := strconv.ParseFloat(width[1], 64)
	for _, word := range regexp.MustCompile(`xMax="([0-9.]+)" yMax="[0-9.]+">([^<]*)<`).FindAllStringSubmatch(bounds, -1) {
		if x, _ := strconv.ParseFloat(word[1], 64); x > edge-14 {
			t.Errorf("%q ends at %s of %s points: it is cut, or in the margin", word[2], word[1], width[1])
		}
	}
	// A browser makes everything smaller if something is too wide for the page: the
	// heading would be lower than its 12 points then.
	places := regexp.MustCompile(`yMin="([0-9.]+)" xMax="[0-9.]+" yMax="([0-9.]+)">Verdicts<`).FindStringSubmatch(bounds)
	if places == nil {
		t.Fatal("the first page has no verdicts")
	}
	from, _ := strconv.ParseFloat(places[1], 64)
	to, _ := strconv.ParseFloat(places[2], 64)
	if to-from < 12 {
		t.Errorf("a heading is %.1f points high: the page was made smaller", to-from)
	}
	run("pdftoppm", "-r", "20", "-l", "1", "-singlefile", paper, filepath.Join(directory, "first"))
	picture, err := os.ReadFile(filepath.Join(directory, "first.ppm"))
	if err != nil {
		t.Fatal(err)
	}
	if corner := picture[len(picture)-3:]; corner[0] != 255 || corner[1] != 255 || corner[2] != 255 {
		t.Errorf("the paper is %v", corner)
	}
}
