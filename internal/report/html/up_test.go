package html

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/testing/needs"
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

// A window of Chromium's is at least 500 pixels wide, and a frame is not.
const phone = `<iframe src="report.html" style="width:390px;height:844px"></iframe><script>
onload = () => requestAnimationFrame(() => document.title = document.querySelector("iframe").contentDocument.documentElement.scrollHeight)</script>`

func TestAPhoneHasAllBelowTheVerdictsFolded(t *testing.T) {
	needs.Program(t, "chromium")
	folder := t.TempDir()
	for name, text := range map[string]string{"report.html": htmlOf(t, reporttest.Quick()), "phone.html": phone} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	dom := browse(t, "file://"+filepath.Join(folder, "phone.html"), "--allow-file-access-from-files")
	title := regexp.MustCompile(`<title>(\d+)</title>`).FindStringSubmatch(dom)
	if title == nil {
		t.Fatalf("the page has no height: %s", dom)
	}
	// 15 rows of verdicts, where the study quick has 9; unfolded it is some 30,000 pixels.
	if height, _ := strconv.Atoi(title[1]); height < 844 || height > 7500 {
		t.Errorf("the page is %d pixels high", height)
	}
	narrow := browse(t, "file://"+filepath.Join(folder, "report.html")+"#notes", "--window-size=500,900")
	if n := strings.Count(narrow, `<details class="whole" open=""><summary><h2>Notes`); n != 1 || strings.Count(narrow, `<details class="whole">`) < 10 {
		t.Errorf("a link opens %d sections", n)
	}
}
