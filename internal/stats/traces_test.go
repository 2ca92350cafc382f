package stats

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/testing/needs"
)

// trace is a recording of samples that alternated between two sides; see
// testdata/traces/README.md. The logarithms of the rates are by block and round.
type trace struct {
	name   string
	a, b   [][]float64
	stolen [][]float64 // most that either sample of a round lost to the hypervisor, as a share of a core; nil if unknown
	lost   [][]float64 // how much more of a core b lost than a
}

// same reports whether both sides are the same environment.
func (r trace) same() bool { n := len(r.name); return r.name[n-1] == r.name[n-2] }

func traces(t *testing.T) []trace { return tracesIn(t, "traces") }

func tracesIn(t *testing.T, directory string) (all []trace) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", directory, "*.csv"))
	if err != nil || len(files) == 0 {
		t.Fatalf("traces: %v, %v", files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(string(data))).ReadAll()
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		r := trace{name: strings.TrimSuffix(filepath.Base(file), ".csv")}
		for _, row := range rows {
			var values []float64
			for _, text := range row[2:] {
				v, err := strconv.ParseFloat(text, 64)
				if err != nil {
					t.Fatalf("%s: %v", file, err)
				}
				if row[1] == "a" || row[1] == "b" {
					v = math.Log(v)
				}
				values = append(values, v)
			}
			of := map[string]*[][]float64{"a": &r.a, "b": &r.b, "stolen": &r.stolen, "lost": &r.lost}[row[1]]
			*of = append(*of, values)
		}
		all = append(all, r)
	}
	return all
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// withinBlock are the candidates for the log ratio of a block, from the logarithms
// of both sides' samples in its rounds. Location, the one in use, is the first.
var withinBlock = []struct {
	name string
	of   func(a, b []float64) float64
}{
	{"Hodges-Lehmann", ofRounds(Location)},
	{"mean", ofRounds(mean)},
	{"median", ofRounds(Median)},
	{"mean of the middle 60%", ofRounds(func(d []float64) float64 { // 20% at either end
		cut := len(d) / 5
		return mean(slices.Sorted(slices.Values(d))[cut : len(d)-cut])
	})},
	{"mean of the middle third", ofRounds(func(d []float64) float64 { // 35% at either end
		cut := len(d) * 35 / 100
		return mean(slices.Sorted(slices.Values(d))[cut : len(d)-cut])
	})},
	{"ratio of medians", func(a, b []float64) float64 { return Median(b) - Median(a) }},
	{"ratio of means", func(a, b []float64) float64 { return meanRate(b) - meanRate(a) }},
}

// meanRate is the logarithm of the rate of all samples together, each of the same
// amount of work: what one long trial gives.
func meanRate(logs []float64) float64 {
	seconds := 0.0
	for _, v := range logs {
		seconds += math.Exp(-v)
	}
	return -math.Log(seconds / float64(len(logs)))
}

func ofRounds(location func([]float64) float64) func(a, b []float64) float64 {
	return func(a, b []float64) float64 {
		d := make([]float64, len(a))
		for i := range a {
			d[i] = b[i] - a[i]
		}
		return location(d)
	}
}

func deviation(d []float64) float64 {
	m, squares := mean(d), 0.0
	for _, v := range d {
		squares += (v - m) * (v - m)
	}
	return math.Sqrt(squares / float64(len(d)-1))
}

// deviation is the standard deviation of the blocks' log ratios from this many
// rounds. A block that is long enough for several gives several.
func (r trace) deviation(rounds int, of func(a, b []float64) float64) float64 {
	variance, n := 0.0, 0
	for from := 0; from+rounds <= len(r.a[0]); from += rounds {
		var d []float64
		for k := range r.a {
			d = append(d, of(r.a[k][from:from+rounds], r.b[k][from:from+rounds]))
		}
		sd := deviation(d)
		variance += sd * sd
		n++
	}
	return math.Sqrt(variance / float64(n))
}

// The median and the mean of the middle third are narrower by a tenth where many
// samples are disturbed, as where a process is started for each, and by half of that
// where a waiting process takes them. They are wider by 18% and 9% where the noise is
// normal, and see less of stalls that belong to an environment.
func TestTheLocationOfABlockIsAmongTheNarrowest(t *testing.T) {
	all := traces(t)
	for _, rounds := range []int{4, 8, 16} {
		over := make([]float64, len(withinBlock)) // mean log ratio to the first
		for _, r := range all {
			row := fmt.Sprintf("%2d rounds, %-18s", rounds, r.name)
			first := r.deviation(rounds, withinBlock[0].of)
			for i, c := range withinBlock {
				sd := r.deviation(rounds, c.of)
				over[i] += math.Log(sd/first) / float64(len(all))
				row += fmt.Sprintf("  %s %.2f%%", c.name, 100*sd)
			}
			t.Log(row)
		}
		for i, c := range withinBlock {
			ratio := math.Exp(over[i])
			t.Logf("%2d rounds: %s %.2f", rounds, c.name, ratio)
			if ratio < .85 {
				t.Errorf("%d rounds: the deviation of the %s is %.2f of that of the location in use", rounds, c.name, ratio)
			}
		}
	}
}

// withoutStolen is the location of the rounds in which neither sample lost more than
// this share of a core; of all rounds if those are fewer than half.
func (r trace) withoutStolen(block, from, rounds int, limit float64) (location float64, out int) {
	var d, left []float64
	for i := from; i < from+rounds; i++ {
		d = append(d, r.b[block][i]-r.a[block][i])
		if r.stolen[block][i] <= limit {
			left = append(left, d[len(d)-1])
		}
	}
	if 2*len(left) < len(d) {
		left = d
	}
	return Location(left), len(d) - len(left)
}

// givenBack is the location of the rounds as if the samples had not lost what the
// hypervisor took.
func (r trace) givenBack(block, from, rounds int) float64 {
	var d []float64
	for i := from; i < from+rounds; i++ {
		d = append(d, r.b[block][i]-r.a[block][i]+r.lost[block][i])
	}
	return Location(d)
}

// A rule for rounds whose samples lost time to the hypervisor would have to narrow a
// block's location beyond what its robustness does. None does so with few and with many
// rounds: neither leaving them out, nor adding the difference of the shares that both
// sides lost, with the coefficient 1 that time has.
func TestNoRuleForStolenTimeNarrows(t *testing.T) {
	type rule struct {
		name string
		of   func(r trace, block, from, rounds int) (location float64, out int)
	}
	rules := []rule{{"given back", func(r trace, block, from, rounds int) (float64, int) { return r.givenBack(block, from, rounds), 0 }}}
	for _, limit := range []float64{0, .02, .05, .1, .2} {
		rules = append(rules, rule{fmt.Sprintf("limit %.0f%%", 100*limit), func(r trace, block, from, rounds int) (float64, int) {
			return r.withoutStolen(block, from, rounds, limit)
		}})
	}
	for _, directory := range []string{"traces", "stolen"} { // in ticks, in nanoseconds
		for _, rule := range rules {
			for _, rounds := range []int{8, 24} {
				over, n := 0.0, 0.0
				for _, r := range tracesIn(t, directory) {
					if r.stolen == nil || r.lost == nil && rule.name == "given back" {
						continue
					}
					var all, kept, moved []float64
					out := 0
					for k := range r.a {
						for from := 0; from+rounds <= len(r.a[k]); from += rounds {
							whole, _ := r.withoutStolen(k, from, rounds, math.Inf(1))
							left, dropped := rule.of(r, k, from, rounds)
							all, kept, moved, out = append(all, whole), append(kept, left), append(moved, left-whole), out+dropped
						}
					}
					ratio := deviation(kept) / deviation(all)
					t.Logf("%s, %s, %2d rounds: %-24s %2d%% left out, deviation %.2f%% instead of %.2f%%, ratio %.2f, moved by %+.2f%% ± %.2f%%", directory, rule.name, rounds,
						r.name, 100*out/(rounds*len(all)), 100*deviation(kept), 100*deviation(all), ratio, 100*mean(moved), 200*deviation(moved)/math.Sqrt(float64(len(moved))))
					over, n = over+math.Log(ratio), n+1
				}
				if n == 0 {
					continue // of the traces in ticks, the difference is not kept
				}
				ratio := math.Exp(over / n)
				t.Logf("%s, %s, %2d rounds: %.2f", directory, rule.name, rounds, ratio)
				if ratio < .85 {
					t.Errorf("%s, %d rounds: %s narrows the deviation to %.2f", directory, rounds, rule.name, ratio)
				}
			}
		}
	}
}

// Blocks are made from a trace by the moving-block bootstrap (Künsch, The jackknife
// and the bootstrap for general stationary observations, 1989): long pieces of rounds
// that follow one another, so that bursts and the likeness of neighbours stay, all
// from one block of the trace, so that the difference between instances stays, and
// some blocks that follow one another, so that slow changes of the machine stay.
const (
	pieceOfRounds = 8
	pieceOfBlocks = 4
)

// resampled are the differences of the rounds of n blocks. Where both sides are the
// same, they are interchangeable, and each block is turned over with probability 1/2:
// the true difference is then exactly 0.
func (r trace) resampled(rng *rand.Rand, n, rounds int) [][]float64 {
	var all [][]float64
	from := 0
	for i := range n {
		if i%pieceOfBlocks == 0 {
			from = rng.IntN(len(r.a))
		}
		k := (from + i) % len(r.a)
		turned := 1.0
		if r.same() && rng.IntN(2) == 0 {
			turned = -1
		}
		var d []float64
		for len(d) < rounds {
			at := rng.IntN(len(r.a[k]))
			for j := range min(pieceOfRounds, rounds-len(d)) {
				j = (at + j) % len(r.a[k])
				d = append(d, turned*(r.b[k][j]-r.a[k][j]))
			}
		}
		all = append(all, d)
	}
	return all
}

// profile makes the rounds of the blocks of a run. Its true difference is centre.
type profile struct {
	name   string
	blocks func(rng *rand.Rand, n, rounds int) [][]float64
	centre float64
}

// madeUp are worst cases. Each side of a round has the noise that the name says; the
// blocks differ by 1% besides, as instances do.
func madeUp(name string, symmetric bool, noise func(rng *rand.Rand, rounds int) (a, b []float64)) profile {
	p := profile{name: name, blocks: func(rng *rand.Rand, n, rounds int) (all [][]float64) {
		for range n {
			between := .01 * rng.NormFloat64()
			a, b := noise(rng, rounds)
			for i := range b {
				b[i] += between - a[i]
			}
			all = append(all, b)
		}
		return all
	}}
	if !symmetric {
		p.centre = p.location()
	}
	return p
}

// location of the differences that a profile's blocks have in the long run, which is
// what the procedure estimates: where the noise of the two sides differs, no other
// figure is the true one.
func (p profile) location() float64 {
	rng := rand.New(rand.NewPCG(11, 5))
	var d []float64
	for _, rounds := range p.blocks(rng, 20000, 16) {
		d = append(d, Location(rounds))
	}
	return NewWalsh(d).Median()
}

func profiles(t *testing.T) (all []profile) {
	for _, r := range traces(t) {
		p := profile{name: r.name, blocks: r.resampled}
		if !r.same() {
			p.centre = p.location()
		}
		all = append(all, p)
	}
	each := func(draw func(rng *rand.Rand) float64) func(*rand.Rand, int) (a, b []float64) {
		return func(rng *rand.Rand, rounds int) (a, b []float64) {
			for range rounds {
				a, b = append(a, draw(rng)), append(b, draw(rng))
			}
			return a, b
		}
	}
	return append(all,
		madeUp("normal", true, each(func(rng *rand.Rand) float64 { return .05 * rng.NormFloat64() })),
		madeUp("heavy tails", true, each(func(rng *rand.Rand) float64 { // Cauchy
			return .02 * math.Tan(math.Pi*(rng.Float64()-.5))
		})),
		madeUp("bursts", true, func(rng *rand.Rand, rounds int) (a, b []float64) {
			burst := false
			for range rounds {
				if rng.Float64() < .25 {
					burst = !burst
				}
				noise := func() float64 {
					if burst {
						return .01*rng.NormFloat64() - .5*rng.ExpFloat64()
					}
					return .01 * rng.NormFloat64()
				}
				a, b = append(a, noise()), append(b, noise())
			}
			return a, b
		}),
		madeUp("each side drifts by itself", true, func(rng *rand.Rand, rounds int) (a, b []float64) {
			x, y := .05*rng.NormFloat64(), .05*rng.NormFloat64()
			for range rounds { // autocorrelation 0.9
				x, y = .9*x+.0218*rng.NormFloat64(), .9*y+.0218*rng.NormFloat64()
				a, b = append(a, x), append(b, y)
			}
			return a, b
		}),
		madeUp("only one side skewed", false, func(rng *rand.Rand, rounds int) (a, b []float64) {
			for range rounds {
				a, b = append(a, .01*rng.NormFloat64()), append(b, -.2*rng.ExpFloat64())
			}
			return a, b
		}),
		// The differences have three modes, so that they are not unimodal.
		madeUp("instances of two kinds", true, func(rng *rand.Rand, rounds int) (a, b []float64) {
			x, y := .1*float64(rng.IntN(2)), .1*float64(rng.IntN(2))
			for range rounds {
				a, b = append(a, x+.01*rng.NormFloat64()), append(b, y+.01*rng.NormFloat64())
			}
			return a, b
		}),
	)
}

// concluded is what the procedure says about a profile with an effect, from at most
// 60 blocks of so many rounds.
func (p profile) concluded(rng *rand.Rand, rounds int, effect, margin float64, location func([]float64) float64) (Judgement, Interval) {
	d := make([]float64, 0, MostLook)
	for _, block := range p.blocks(rng, MostLook, rounds) {
		d = append(d, location(block)-p.centre+effect)
	}
	return concluded(d, margin)
}

// The procedure as a whole, from rounds to a verdict, on what was recorded and on
// worst cases. TARE_SIM_PATHS sets the number of runs for each profile.
func TestAlternatingSamplesKeepThePromises(t *testing.T) {
	n, short := 60, true
	if needs.ShortForm() {
		n = 20
	}
	if text := os.Getenv("TARE_SIM_PATHS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			t.Fatalf("TARE_SIM_PATHS=%s is not a number of runs", text)
		}
		short = false
	}
	const rounds = 16
	margin := math.Log(1.02)
	for i, p := range profiles(t) {
		row := fmt.Sprintf("%-26s", p.name)
		for j, effect := range []float64{0, margin, math.Log(1.05)} {
			if short && j == 1 {
				continue
			}
			rng := rand.New(rand.NewPCG(uint64(i), uint64(j)))
			wrong, missed, decided, blocks := 0, 0, 0, 0
			for range n {
				v, shown := p.concluded(rng, rounds, effect, margin, Location)
				if shown.Low > effect || shown.High < effect {
					missed++
				}
				if v.Decided() {
					decided++
				}
				if j == 0 && v.Different || j == 1 && v.Equivalent || j == 2 && v.Different && !v.Above {
					wrong++
				}
				blocks += v.N
			}
			share := func(count int) float64 { return 100 * float64(count) / float64(n) }
			row += fmt.Sprintf(" | %+.0f%%: wrong %.1f%%, missed %.1f%%, decided %.0f%%, %.1f blocks", 100*math.Expm1(effect), share(wrong), share(missed), share(decided), float64(blocks)/float64(n))
			// Three standard errors of the simulation.
			limit := 5 + 300*math.Sqrt(.05*.95/float64(n))
			if share(wrong) > limit || share(missed) > limit {
				t.Errorf("%s, %+.0f%%: %.1f%% wrong verdicts, %.1f%% intervals without the truth", p.name, 100*math.Expm1(effect), share(wrong), share(missed))
			}
		}
		t.Log(row)
	}
}

// The first three blocks of a run have 16 rounds, and the others as many as the times
// say; here a block costs 4, 20 or 100 rounds. The time is relative to that of runs with
// 16 rounds throughout.
func TestAnotherNumberOfRoundsKeepsThePromises(t *testing.T) {
	n := 20
	if text := os.Getenv("TARE_SIM_PATHS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			t.Fatalf("TARE_SIM_PATHS=%s is not a number of runs", text)
		}
	}
	for i, p := range profiles(t) {
		row := fmt.Sprintf("%-26s", p.name)
		for j, c := range []struct{ cost, rounds int }{{4, 8}, {20, 13}, {100, 28}} {
			rng := rand.New(rand.NewPCG(uint64(i), uint64(j)))
			run := func(rounds int) (v Judgement, shown Interval, time float64) {
				var d []float64
				for _, block := range append(p.blocks(rng, 3, 16), p.blocks(rng, MostLook-3, rounds)...) {
					d = append(d, Location(block)-p.centre)
				}
				v, shown = concluded(d, math.Log(1.02))
				return v, shown, float64(v.N*(c.cost+rounds) + 3*(16-rounds))
			}
			wrong, missed, time, of16 := 0, 0, 0.0, 0.0
			for range n {
				v, shown, took := run(c.rounds)
				if v.Different {
					wrong++
				}
				if shown.Low > 0 || shown.High < 0 {
					missed++
				}
				_, _, took16 := run(16)
				time, of16 = time+took, of16+took16
			}
			share := func(count int) float64 { return 100 * float64(count) / float64(n) }
			row += fmt.Sprintf(" | cost %3d: wrong %.1f%%, missed %.1f%%, time %.2f", c.cost, share(wrong), share(missed), time/of16)
			if limit := 5 + 400*math.Sqrt(.05*.95/float64(n)); share(wrong) > limit || share(missed) > limit {
				t.Errorf("%s, cost %d: %.1f%% wrong verdicts, %.1f%% intervals without the truth", p.name, c.cost, share(wrong), share(missed))
			}
		}
		t.Log(row)
	}
}
