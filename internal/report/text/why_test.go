package text

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

func TestALadderIsShownAsAWaterfallThatFitsTheTerminal(t *testing.T) {
	var out bytes.Buffer
	if err := WriteWhy(&out, reporttest.Ladder(), model.Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for line := range strings.Lines(text) {
		if w := ansi.StringWidth(strings.TrimRight(line, "\n")); w > 80 {
			t.Errorf("%d columns: %s", w, line)
		}
	}
	for _, want := range []string{
		`Attribution\n`, `\n  nginx: requests per second, higher is better\n`, `hold for all 4 parts`, `\n  native +4\d\.\dk/s\n`,
		`seccomp filter .* equivalent +0% +░`, `log path thr\S* .*slower +7\d% +█+`, `total +-2\d\.\d% .*slower +█+`, `\n  docker +3\d\.\dk/s\n`,
		`The overlay root costs 5\.\d% \[`, `What no part explains \(engine and shim of docker\) costs`, `Unexplained by the named parts: -[23]\.\d% \[`, `note: cgroup namespace`,
	} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("there is no %s in\n%s", want, text)
		}
	}
	if t.Log("\n" + text); strings.Contains(text, "latency") {
		t.Error("a metric that nothing is judged by has a waterfall")
	}
}
