package html

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

func TestAPhoneHasAWayBackToTheTop(t *testing.T) {
	var page bytes.Buffer
	if err := Write(&page, reporttest.Quick(), model.Options{}); err != nil {
		t.Fatal(err)
	}
	if text := page.String(); !strings.Contains(text, `<a href="#top">`) || !strings.Contains(text, `id="top"`) || !strings.Contains(text, ".up{display:block;position:fixed") {
		t.Error("there is no link to the top, or no place that it leads to")
	}
}
