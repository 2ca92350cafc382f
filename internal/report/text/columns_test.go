package text

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/base/term"
	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
	"tare/internal/workload"
)

func columnsAt(t *testing.T, width int) string {
	t.Helper()
	var out bytes.Buffer
	some := func(w string, m workload.Metric) string {
		switch {
		case w == "startup" && m.Primary, w == "nginx" && m.Primary:
			return w
		case w == "fio-randread" && m.Name == "cpu_per_kop":
			return "CPU per 1000"
		case w == "fio-randread" && m.Name == "latency_p99":
			return "latency p99"
		}
		return ""
	}
	if err := WriteColumns(term.NewWriter(&out), reporttest.Quick(), some, model.Options{Width: width}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestAShortTableHasARowForEachFigure(t *testing.T) {
	reporttest.Golden(t, "columns.txt", []byte(columnsAt(t, 80)))
	for _, width := range []int{50, 80, 120, 200} {
		for _, line := range strings.Split(columnsAt(t, width), "\n") {
			if n := ansi.StringWidth(line); n > width {
				t.Errorf("at %d columns: %s", width, line)
			}
		}
	}
}

func TestAShortTableExplainsItsMark(t *testing.T) {
	in := reporttest.Quick()
	for i := range in.Contrasts {
		in.Contrasts[i].Warnings = []verdict.Warning{{Code: verdict.Confound}}
	}
	var out bytes.Buffer
	all := func(_ string, m workload.Metric) string { return m.Name }
	if err := WriteColumns(&out, in, all, model.Options{Width: 200}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "slower"+model.Mark) || !strings.Contains(text, "\n"+model.MarkMeans) {
		t.Error(text)
	}
}
