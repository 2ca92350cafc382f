package serve

import (
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/serve/index"
)

func TestTwoRunsAreComparedTheOlderOneFirst(t *testing.T) {
	directory, _ := runs(t)
	s := serveRuns(t, "", directory)
	page(t, s.base()+"/")
	before, after := index.Identity(filepath.Join(directory, "loop-02")), index.Identity(filepath.Join(directory, "loop-12"))
	text := page(t, s.base()+"/compare?run="+after+"&run="+before)
	if strings.Index(text, ">loop-02</a>") > strings.Index(text, ">loop-12</a>") {
		t.Error("the newer run comes first")
	}
	for _, want := range []string{"+5.8%", "+12.2%", `<span class="verdict slower">slower`, "kernel: 6.1, then 6.12", "Other metrics: 1 row"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	for _, query := range []string{"", "?run=" + before, "?run=" + before + "&run=" + before, "?run=" + before + "&run=" + after + "&run=" + after, "?run=" + before + "&run=x"} {
		if response, _ := ask(t, "GET", s.base()+"/compare"+query, nil); response.StatusCode/100 != 4 {
			t.Errorf("compare %q: %s", query, response.Status)
		}
	}
}
