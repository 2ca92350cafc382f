package metrics_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"tare/internal/metrics"
)

//go:generate go test -run TestTheDocumentation -update

var update = flag.Bool("update", false, "write the table of the documentation")

const (
	page  = "../../docs/how-to/live.md"
	begin = "<!-- metrics: go generate ./internal/metrics -->\n"
	end   = "<!-- end of metrics -->\n"
)

func table() string {
	var b strings.Builder
	b.WriteString("| metric | type | labels, besides `run` | live, finished | |\n|---|---|---|---|---|\n")
	row := func(f *metrics.Family, labels string) {
		shown := map[metrics.Shown]string{metrics.Live: "live", metrics.Finished: "finished", metrics.Both: "both"}[f.Shown]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", f.Name, f.Type, labels, shown, f.Help)
	}
	for _, f := range metrics.Families() {
		row(f, strings.Join(f.Labels, ", "))
	}
	row(metrics.Build, strings.Join(metrics.Build.Labels, ", ")+"; no `run`")
	return b.String()
}

func TestTheDocumentationListsAllMetrics(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	have, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no markers of the table", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(before+begin+table()+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if have != table() {
		t.Errorf("the table of %s is not up to date: go generate ./internal/metrics", page)
	}
}
