package verdict

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"tare/internal/rundir"
	"tare/internal/study"
)

// crowded are a plan and trials in which each environment's figure is made from
// the environment's number and the level's count.
func crowded(blocks int, by string, counts []int, figure func(environment, block, count int) float64) (*study.Plan, []rundir.Trial) {
	p := planOf(study.Blocks{Min: blocks, Max: blocks, Fixed: true}, "native", "docker")
	p.Workloads[0].Levels = nil
	for _, n := range counts {
		l := study.Level{Name: by + "=" + string(rune('0'+n))}
		if by == study.ByNeighbours {
			l.Neighbours = n
		} else {
			l.Instances = n
		}
		p.Workloads[0].Levels = append(p.Workloads[0].Levels, l)
	}
	var trials []rundir.Trial
	for b := range blocks {
		for e, name := range []string{"native", "docker"} {
			for i, n := range counts {
				trials = append(trials, rundir.Trial{Block: b + 1, Environment: name, Workload: "w", Level: p.Workloads[0].Levels[i].Name,
					Status: rundir.OK, Metrics: map[string]float64{"time": figure(e, b, n)}})
			}
		}
	}
	return p, trials
}

func TestEachEnvironmentIsComparedWithItselfWithoutNeighbours(t *testing.T) {
	// The machine's speed differs from block to block, and cancels out.
	p, trials := crowded(8, study.ByNeighbours, []int{2, 0, 1}, func(e, b, n int) float64 {
		return float64(1+b) * (1 + float64(e)) * math.Pow(1+.1*float64(1+e), float64(n))
	})
	all := Within(p, trials, rundir.Manifest{})
	var output []string
	for _, c := range all {
		output = append(output, strings.SplitN(Wording(c), " [", 2)[0])
		if c.Family != 4 || c.Baseline != c.Environment || c.BaseLevel != "neighbours=0" {
			t.Errorf("%+v", c)
		}
	}
	want := []string{
		"native at neighbours=1 is 10.0% slower than at neighbours=0", "docker at neighbours=1 is 20.0% slower than at neighbours=0",
		"native at neighbours=2 is 21.0% slower than at neighbours=0", "docker at neighbours=2 is 44.0% slower than at neighbours=0",
	}
	if !slices.Equal(output, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(output, "\n"), strings.Join(want, "\n"))
	}
	if against := Contrasts(p, trials, rundir.Manifest{}); len(against) != 3 || against[0].BaseLevel != "" {
		t.Errorf("the contrasts with the baseline have changed: %v", against)
	}
}

// docker leaves with its verdicts against native after 6 blocks: that there are 6
// depends on them, and its levels have no last analysis.
func TestLevelsOfAnEnvironmentThatLeftHaveNoLastAnalysis(t *testing.T) {
	for _, stays := range []bool{false, true} {
		p, trials := crowded(6, study.ByNeighbours, []int{0, 1}, func(e, b, n int) float64 {
			both, own := rand.New(rand.NewPCG(uint64(b), uint64(n))), rand.New(rand.NewPCG(uint64(b), uint64(10+n)))
			noise := .001
			if stays {
				noise = .2
			}
			return math.Exp(.05*both.NormFloat64() + float64(e)*(1+noise*own.NormFloat64()))
		})
		p.Design.Blocks = usual
		if stays {
			p.Design.Margin = .001
		}
		if c := Contrasts(p, trials, rundir.Manifest{})[0]; slices.Equal(c.Looks, []int{6}) == stays {
			t.Errorf("stays %v: %+v", stays, c)
		}
		for _, c := range append(Within(p, trials, rundir.Manifest{}), With("docker", p, trials, rundir.Manifest{})...) {
			if final := slices.Equal(c.Looks, []int{6, 6}); final != stays || !stays && c.Alpha > .0016 {
				t.Errorf("stays %v, %s at %s against %s at %s: %+v", stays, c.Environment, c.Level, c.Baseline, c.BaseLevel, c)
			}
		}
	}
}

func TestTheCostOfAFurtherInstanceIsTheSlopeWithinABlock(t *testing.T) {
	figures := func(e, b, n int) float64 {
		return 100*float64(1+b) + float64(n)*10*float64(1+e) // the first cost differs, the further ones do not
	}
	p, trials := crowded(7, study.ByInstances, []int{1, 2, 4, 8}, figures)
	if Growths(p, trials, nil) != nil {
		t.Error("a mean grows with nothing, and has a growth")
	}
	p.Workloads[0].Pack.Metrics[0].Across = "sum"
	all := Growths(p, trials, nil)
	if len(all) != 2 || len(Within(p, trials, rundir.Manifest{})) > 0 {
		t.Fatalf("%v", all)
	}
	for i, want := range []float64{10, 20} {
		if g := all[i]; g.Each.Estimate != want || g.N != 7 || !g.Bounded() {
			t.Errorf("%+v", g)
		}
	}
	if r := all[1].Ratio; math.Abs(r.Estimate-2) > 1e-12 || all[1].Paired != 7 {
		t.Errorf("docker's against native's: %+v", r)
	}
	if text, err := json.Marshal(all[0]); err != nil || !strings.Contains(string(text), `"ratio":{"estimate":null,"low":null,"high":null}`) {
		t.Errorf("%s, %v", text, err)
	}
	p, trials = crowded(3, study.ByInstances, []int{1, 2}, figures)
	p.Workloads[0].Pack.Metrics[0].Across = "sum"
	if g := Growths(p, trials, nil)[0]; g.Bounded() || g.Least != 10 || g.Most != 10 {
		t.Errorf("three blocks have an interval: %+v", g)
	}
}
