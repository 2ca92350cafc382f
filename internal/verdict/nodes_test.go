package verdict

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"tare/internal/rundir"
)

// onNodes makes a run of blocks that take turns on nodes; effects are the changes
// there, as logarithms.
func onNodes(blocks int, noise float64, nodes []string, effects ...float64) (trials []rundir.Trial) {
	rng := rand.New(rand.NewPCG(5, 6))
	for b := range blocks {
		speed := rng.NormFloat64()
		for _, name := range []string{"docker", "native"} {
			x := speed + noise*rng.NormFloat64()
			if name == "docker" {
				x += effects[b%len(nodes)]
			}
			trials = append(trials, rundir.Trial{Block: b + 1, Environment: name, Workload: "w", Node: nodes[b%len(nodes)], Status: rundir.OK,
				Metrics: map[string]float64{"time": math.Exp(x)}})
		}
	}
	return trials
}

func written(t interface{ Fatal(...any) }, c Contrast) string {
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestOneNodeAddsNothing(t *testing.T) {
	p := planOf(usual, "native", "docker")
	trials := onNodes(20, .01, []string{"a"}, .05)
	on := one(t, p, trials)
	for i := range trials {
		trials[i].Node = ""
	}
	if with, without := written(t, on), written(t, one(t, p, trials)); on.Nodes != nil || with != without {
		t.Errorf("on one node:\n%s\nwithout:\n%s", with, without)
	}
}

func TestTheNodesOfAContrast(t *testing.T) {
	p := planOf(usual, "native", "docker")
	for name, c := range map[string]struct {
		trials  []rundir.Trial
		verdict Verdict
		codes   []string
		named   []string
		text    string
	}{
		"equal nodes":        {onNodes(24, .01, []string{"a", "b", "c"}, .05, .05, .05), Slower, nil, nil, ""},
		"one differs":        {onNodes(24, .005, []string{"a", "b", "c"}, .05, .05, .12), Slower, []string{NodesDiffer}, []string{"c"}, "; different from the others: c; the verdict is about these nodes, and on nodes like them the mean is +7."},
		"one contradicts":    {onNodes(60, .01, []string{"a", "b", "c", "d", "e"}, .2, .2, .2, .2, -.1), Slower, []string{NodesDiffer, NotEachNode}, []string{"e"}, "the verdict does not hold on each node: e -9."},
		"not equivalent":     {onNodes(60, .003, []string{"a", "b", "c", "d", "e"}, 0, 0, 0, 0, .05), Equivalent, []string{NodesDiffer, NotEachNode}, []string{"e"}, "; different from the others: e"},
		"two nodes":          {onNodes(24, .01, []string{"a", "b"}, .05, .15), Slower, []string{NodesDiffer}, nil, "the change differs between nodes (p = 0.0005), from +5."},
		"two nodes alone":    {onNodes(24, .01, []string{"a", "b"}, .05, .15), Slower, []string{NodesDiffer}, nil, "the verdict is about these nodes, and two do not show what it is on others"},
		"too few to compare": {onNodes(4, .001, []string{"a", "b", "c"}, .05, .05, .12), Slower, nil, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := one(t, p, c.trials)
			var texts []string
			for _, w := range got.Warnings {
				texts = append(texts, w.String())
			}
			if got.Verdict != c.verdict || !slices.Equal(codes(got), c.codes) || !slices.Equal(got.Nodes.Named(), c.named) || !strings.Contains(strings.Join(texts, "\n"), c.text) {
				t.Errorf("%s, %v, named %v:\n%s", got.Verdict, codes(got), got.Nodes.Named(), strings.Join(texts, "\n"))
			}
			total := 0
			for _, n := range got.Nodes.Each {
				total += n.N
			}
			if total != got.N {
				t.Errorf("%d blocks on the nodes, %d in all", total, got.N)
			}
			var read Contrast
			if err := json.Unmarshal([]byte(written(t, got)), &read); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(got.Nodes, read.Nodes, cmpopts.EquateNaNs()); d != "" {
				t.Errorf("read again: %s", d)
			}
		})
	}
}

func TestABlockWhoseSidesRanOnDifferentNodesHasNoPair(t *testing.T) {
	trials := onNodes(12, .01, []string{"a", "b"}, .05, .05)
	trials[4].Node = "b"
	got := one(t, planOf(usual, "native", "docker"), trials)
	if got.N != 11 || !slices.Equal(codes(got), []string{NodesApart}) {
		t.Errorf("%d blocks, %v", got.N, codes(got))
	}
}

func TestTheVerdictDoesNotDependOnTheNamesOfNodes(t *testing.T) {
	p := planOf(usual, "native", "docker")
	rapid.Check(t, func(t *rapid.T) {
		effects := rapid.SliceOfN(rapid.Float64Range(-.1, .1), 2, 4).Draw(t, "effects")
		names := []string{"a", "b", "c", "d"}[:len(effects)]
		blocks := rapid.IntRange(4, 40).Draw(t, "blocks")
		renamed := rapid.Permutation(names).Draw(t, "renamed")
		first := Contrasts(p, onNodes(blocks, .02, names, effects...), rundir.Manifest{})[0]
		second := Contrasts(p, onNodes(blocks, .02, renamed, effects...), rundir.Manifest{})[0]
		single := Contrasts(p, onNodes(blocks, .02, slices.Repeat([]string{"a"}, len(names)), effects...), rundir.Manifest{})[0]
		for i, n := range first.Nodes.Each {
			n.Name = renamed[i]
			at := slices.IndexFunc(second.Nodes.Each, func(o Node) bool { return o.Name == n.Name })
			if second.Nodes.Each[at] != n {
				t.Fatalf("%+v is %+v", n, second.Nodes.Each[at])
			}
		}
		if first.Nodes.P != second.Nodes.P {
			t.Fatalf("p = %v and %v", first.Nodes.P, second.Nodes.P)
		}
		first.Nodes, first.Warnings, single.Warnings = nil, nil, nil
		if one, other := written(t, first), written(t, single); one != other {
			t.Fatalf("nodes change the verdict:\n%s\n%s", one, other)
		}
	})
}
