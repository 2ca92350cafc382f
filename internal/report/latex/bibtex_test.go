package latex

import (
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

func TestBracesOfAVersionLeaveTheBibliographyBalanced(t *testing.T) {
	in := reporttest.Quick()
	in.Manifest.Tare = "1}{}"
	files, err := BibTeX(model.New(in))
	if err != nil {
		t.Fatal(err)
	}
	text := string(files[0].Data)
	if strings.Count(text, "{") != strings.Count(text, "}") || !strings.Contains(text, `1\textbraceright{}\textbraceleft{}`) {
		t.Error(text)
	}
}
