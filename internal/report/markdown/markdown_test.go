package markdown

import (
	"bytes"
	"testing"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

func TestMarkdownShowsTheVerdicts(t *testing.T) {
	var out bytes.Buffer
	if err := Write(&out, reporttest.Quick(), model.Options{}); err != nil {
		t.Fatal(err)
	}
	reporttest.Golden(t, "report.md", out.Bytes())
}
