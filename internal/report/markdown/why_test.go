package markdown

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

func TestMarkdownOfALadderIsATable(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, reporttest.Ladder(), model.Options{}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	section := text[strings.Index(text, "## Attribution"):]
	rows := 0
	for line := range strings.Lines(section) {
		if !strings.HasPrefix(line, "|") {
			if rows > 0 {
				break
			}
			continue
		}
		if rows++; strings.Count(line, "|") != 7 {
			t.Errorf("%d bars in %s", strings.Count(line, "|"), line)
		}
	}
	if rows != 9 {
		t.Errorf("%d rows:\n%s", rows, section)
	}
}
