package report

import (
	"bytes"
	"strings"
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

// written is what a format writes: the text of all files of an export, of which binary
// ones have none.
func written(f Format, in model.Input, o model.Options) (string, error) {
	files, err := f.Files(in, o)
	var all strings.Builder
	for _, file := range files {
		if f.Name != "parquet" && f.Name != "pdf" && f.Name != "brief" {
			all.Write(file.Data)
		}
	}
	return all.String(), err
}

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
