package selftest

import (
	"bytes"
	"flag"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"tare/internal/verdict"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestRatesHaveTheIntervalOfClopperAndPearson(t *testing.T) {
	for _, c := range []struct {
		hits, of  int
		low, high float64
	}{{0, 10, 0, .30849710781876083}, {5, 10, .18708602844739855, .8129139715526014}, {10, 10, .6915028921812392, 1}, {0, 0, 0, 1}} {
		if r := rate(c.hits, c.of); math.Abs(r.Low-c.low) > 1e-5 || math.Abs(r.High-c.high) > 1e-5 {
			t.Errorf("%d of %d: %+v, want [%v, %v]", c.hits, c.of, r, c.low, c.high)
		}
	}
}

func outcomes() *rapid.Generator[Outcome] {
	return rapid.Custom(func(t *rapid.T) Outcome {
		o := Outcome{
			Environment: rapid.SampledFrom([]string{"native", "docker"}).Draw(t, "environment"),
			Design:      rapid.SampledFrom([]Design{Alternating, Usual}).Draw(t, "design"),
			Effect:      rapid.SampledFrom([]string{"+0%", "+5%", "0.4 CPUs"}).Draw(t, "effect"),
			Verdict:     rapid.SampledFrom([]verdict.Verdict{verdict.Slower, verdict.Faster, verdict.Equivalent, verdict.Inconclusive}).Draw(t, "verdict"),
			Low:         rapid.Float64Range(-.1, .06).Draw(t, "low"), N: 8, Seconds: 3,
		}
		o.High = o.Low + rapid.Float64Range(0, .1).Draw(t, "width")
		switch o.Effect {
		case "+0%":
			o.Truth = new(0.)
		case "+5%":
			o.Truth = new(math.Log(1.05))
		}
		return o
	})
}

func TestEveryOutcomeIsInOneLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOf(outcomes()).Draw(t, "rows")
		lines, rates := summarize(rows, .02)
		n, wrong, held, known := 0, 0, 0, 0
		for _, l := range lines {
			n, wrong, held, known = n+l.N, wrong+l.Wrong, held+l.Held, known+l.Known
			if l.N == 0 || l.Wrong+l.Slower+l.Equivalent > 2*l.N || l.Held > l.Known || l.Known > l.N || l.Decided > l.N || l.Half < 0 {
				t.Fatalf("%+v", l)
			}
		}
		rateHeld, rateOf := 0, 0
		for _, r := range rates {
			rateHeld, rateOf = rateHeld+r.Held.Hits, rateOf+r.Held.Of
			for _, of := range []Rate{r.FalseAlarms, r.Held, r.Found, r.Equal} {
				share := float64(of.Hits) / float64(max(of.Of, 1))
				if of.Hits > of.Of || of.Low > share || of.High < share {
					t.Fatalf("%+v", r)
				}
			}
		}
		if n != len(rows) || rateHeld != held || rateOf != known || wrong > n {
			t.Fatalf("%d rows, %d in lines; %d/%d held in rates, %d/%d in lines", len(rows), n, rateHeld, rateOf, held, known)
		}
	})
}

// With noise that is independent from sample to sample, Welch's test keeps its
// promises, and so it is fair to print what it does in other noise.
func TestTheUsualPracticeHoldsInIndependentNoise(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var rows []Outcome
	for range 4000 {
		draw := func(n int) (x []float64) {
			for range n {
				x = append(x, random.NormFloat64())
			}
			return x
		}
		o := Outcome{Design: Usual, Effect: "+0%", Truth: new(0.), Verdict: verdict.Inconclusive}
		if o.Estimate, o.Low, o.High = welch(draw(usualSamples), draw(usualSamples)); o.Low > 0 || o.High < 0 {
			o.Verdict = verdict.Slower
		}
		rows = append(rows, o)
	}
	_, rates := summarize(rows, .02)
	if r := rates[0]; r.FalseAlarms.Low > .05 || r.FalseAlarms.High < .05 || r.Held.Hits+r.FalseAlarms.Hits != len(rows) {
		t.Errorf("%+v", r)
	}
}

// summary is of two environments, one of which measured nothing complete.
func summary() Summary {
	s := Summary{
		Margin: .02, Sample: 50 * time.Millisecond, Took: 301 * time.Second, Cycles: 2, Failed: 1, Trials: 900,
		Environments: []Tested{{"docker", "", 18000, 230, new(.0123)}, {"qemu+machine=microvm", "tcg", 250, 0, nil}},
		Skipped:      []Skipped{{"gvisor", "needs runsc: it is not installed; fix it with: tare doctor, which shows where to get it from"}},
	}
	add := func(cycle int, d Design, effect string, truth *float64, v verdict.Verdict, low, high float64, n int, seconds float64) {
		s.Rows = append(s.Rows, Outcome{Environment: "docker", Effect: effect, Design: d, Cycle: cycle, Truth: truth, Verdict: v, Low: low, High: high, N: n, Seconds: seconds})
	}
	none, five := new(0.), new(math.Log(1.05))
	for cycle := 1; cycle <= 2; cycle++ {
		add(cycle, Alternating, "+0%", none, verdict.Equivalent, -.004, .006, 8*cycle, 12.8*float64(cycle))
		add(cycle, Alternating, "+5%", five, verdict.Slower, .04, .055, 8, 13.2)
		add(cycle, Alternating, "0.4 CPUs", nil, verdict.Inconclusive, -.1, 1.2, 20, 60)
		add(cycle, Usual, "+0%", none, verdict.Slower, .003, .02, 10, 12.8)
		add(cycle, Usual, "+5%", five, verdict.Inconclusive, -.01, .2, 10, 13.1)
	}
	s.Lines, s.Rates = summarize(s.Rows, s.Margin)
	return s
}

func TestTheTextIsTheGoldenOne(t *testing.T) {
	var got bytes.Buffer
	summary().Text(&got)
	for line := range strings.Lines(got.String()) {
		if ansi.StringWidth(strings.TrimRight(line, "\n")) > 80 {
			t.Errorf("%d columns: %s", ansi.StringWidth(line), line)
		}
	}
	path := filepath.Join("testdata", "summary.txt")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}
