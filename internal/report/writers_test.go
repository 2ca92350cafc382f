package report

import (
	"bytes"
	"testing"

	"tare/internal/report/html"
	"tare/internal/report/markdown"
	"tare/internal/report/model"
	"tare/internal/report/text"
)

// The formats under the names that the tests call them by.
var (
	writeText          = text.Write
	writeMarkdown      = markdown.Write
	writeHTML          = html.Write
	writeScoreText     = text.WriteScore
	writeScoreMarkdown = markdown.WriteScore
	writeScoreHTML     = html.WriteScore
	writeFairness      = text.WriteFairness
	writeWhy           = text.WriteWhy
)

func htmlOf(t *testing.T, in model.Input) string {
	t.Helper()
	var page bytes.Buffer
	if err := html.Write(&page, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	return page.String()
}

func terminalOf(t *testing.T, in model.Input, o model.Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := text.Write(&out, in, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
