package serve

import (
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tare/internal/serve/index"
)

func TestTheHistoryShowsWhereAContrastChanged(t *testing.T) {
	directory, _ := runs(t)
	s := serveRuns(t, "", directory)
	page(t, s.base()+"/")
	text := page(t, s.base()+"/history")
	if !strings.Contains(text, "time of loop: docker against native</a></th><td class=\"number\">18<") {
		t.Errorf("the list of histories lacks the contrast:\n%s", text)
	}
	if _, line, _ := strings.Cut(text, `<polyline points="`); strings.Count(line[:strings.Index(line, `"`)], ",") != 18 || !strings.Contains(text, `<td class="number">+12.`) {
		t.Errorf("the list has no line through 18 values, or not the newest one:\n%s", text)
	}
	series := index.Series{Study: "loop", Workload: "loop", Metric: "time", Environment: "docker", Baseline: "native"}
	text = page(t, s.base()+"/history/of?"+series.Query())
	for _, want := range []string{"From loop-08 on: +12.", "before it +5.", `<tr class="changed"><th scope="row" class="named"><a href="/runs/` + index.Identity(filepath.Join(directory, "loop-08")), "another machine or kernel: A <b>CPU"} {
		if !strings.Contains(text, want) {
			t.Errorf("the history lacks %q", want)
		}
	}
	charts := strings.Split(text, "<svg")[1:]
	if len(charts) != 2 || !strings.Contains(charts[1], `class="chart narrow"`) {
		t.Fatalf("%d charts, not one for wide and one for narrow windows", len(charts))
	}
	for _, chart := range charts {
		if n := strings.Count(chart, "<circle"); n != steps {
			t.Errorf("%d points, not %d", n, steps)
		}
		if n := strings.Count(chart, `class="change"`); n != 1 {
			t.Errorf("%d change points", n)
		}
		if !strings.Contains(chart, ">2026-11-01</text>") || !strings.Contains(chart, ">2026-11-18</text>") {
			t.Errorf("the chart does not say when the runs were:\n%s", chart)
		}
	}
	if response, _ := ask(t, "GET", s.base()+"/history/of?study=none", nil); response.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown contrast: %s", response.Status)
	}
}

// A history is looked at after each run, and all these readings together show a change in
// one of a hundred histories that have none.
func TestAHistoryThatIsReadAfterEachRunKeepsTheLevel(t *testing.T) {
	histories, most := 150, 60
	if text := os.Getenv("TARE_SIM_PATHS"); text != "" {
		var err error
		if histories, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	random, shown := rand.New(rand.NewPCG(4, 2)), 0
	for i := range histories {
		values := make([]float64, most)
		for k := range values {
			values[k] = random.NormFloat64()
			if i%2 == 1 && random.IntN(10) == 0 {
				values[k] *= 10
			}
		}
		for n := fewest; n <= most; n++ {
			if len(changes.ChangePoints(values[:n], 1)) > 0 {
				shown++
				break
			}
		}
	}
	t.Logf("%d of %d histories showed a change by %d runs", shown, histories, most)
	if expected := .01 * float64(histories); float64(shown) > expected+4*math.Sqrt(expected) {
		t.Errorf("%d of %d histories without a change showed one", shown, histories)
	}
}
