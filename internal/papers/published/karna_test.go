package published

import (
	"slices"
	"testing"

	"tare/internal/papers/score"
)

// What the figures of karna-2021 contradict in its own text and scores.
func TestClaimsOfKarnaThatDoNotHold(t *testing.T) {
	s, err := Builtin("karna-2021")
	if err != nil {
		t.Fatal(err)
	}
	r := s.Recompute()
	var fails, rescored, scores []string
	for _, c := range r.Claims {
		if c.Outcome == Fails {
			fails = append(fails, c.ID)
		}
		if c.Rescored != nil {
			rescored = append(rescored, c.ID)
		}
	}
	for _, g := range r.Scored.Groups {
		for _, f := range g.Features {
			for _, c := range f.Scores {
				if c.Outcome == Fails {
					scores = append(scores, f.ID+" "+c.Environment)
				}
			}
		}
		for _, sum := range g.Sums {
			if sum.Outcome != Holds {
				t.Errorf("the printed sum of %s in %s is not that of the printed scores", sum.Environment, g.Place)
			}
		}
	}
	for _, test := range []struct {
		what      string
		got, want []string
	}{
		{"claims", fails, []string{"boot-containers", "file-docker-stable", "jitter-direction", "http-unit", "kvm-loses-only-boot", "conclusion-cpu"}},
		{"claims with the scores recomputed", rescored, []string{"jitter-points", "db-points", "kvm-two-points-less", "sums-without-boot", "gvisor-firecracker-same"}},
		{"scores", scores, []string{"score-jitter firecracker", "score-db-read kvm", "score-db-write kvm"}},
	} {
		if !slices.Equal(test.got, test.want) {
			t.Errorf("%s that do not hold: %q, want %q", test.what, test.got, test.want)
		}
	}
}

func TestTheBuiltInProfileHasTheStudysThresholds(t *testing.T) {
	s, err := Builtin("karna-2021")
	if err != nil {
		t.Fatal(err)
	}
	p, err := score.Builtin(s.Scores.Profile)
	if err != nil {
		t.Fatal(err)
	}
	own := s.profile().Features
	if len(own) != len(p.Features) {
		t.Fatalf("%d features, the profile has %d", len(own), len(p.Features))
	}
	for i, f := range p.Features {
		if f.Group != own[i].Group || !slices.Equal(f.AtLeast, own[i].AtLeast) || !slices.Equal(f.AtMost, own[i].AtMost) {
			t.Errorf("%s: %s %v %v, the study has %s %v %v", f.Name, f.Group, f.AtLeast, f.AtMost, own[i].Group, own[i].AtLeast, own[i].AtMost)
		}
		m := s.tableByID(own[i].Workload).Measures
		if !slices.ContainsFunc(m, func(c Counterpart) bool { return c.Workload == f.Workload && c.Metric == f.Metric }) {
			t.Errorf("%s: the profile rates %s of %s, which is not among what measures the table: %+v", f.Name, f.Metric, f.Workload, m)
		}
	}
}
