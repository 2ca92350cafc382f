package knowncost

import (
	"io"
	"strings"
	"testing"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
	"tare/internal/workload"
)

func TestTheWorkIsLongerByExactlyTheHandicap(t *testing.T) {
	for _, c := range []struct {
		o    Options
		want int
	}{
		{Defaults(), 1_000_000},
		{Options{Percent: 5, Idle: true}, 1_000_000},
		{Options{Percent: 5, Costly: true}, 1_050_000},
		{Options{Percent: 0.5, Costly: true, Idle: true}, 1_005_000},
	} {
		if got := c.o.Iterations(); got != c.want {
			t.Errorf("%+v: %d, want %d", c.o, got, c.want)
		}
	}
	if (&Options{Percent: -1}).Validate() == nil {
		t.Error("less than no work is taken")
	}
}

// The loop of the pack does in the instance what the options say.
func TestThePackHeedsTheHandicap(t *testing.T) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	pack, err := workload.Decode("spin.yaml", []byte(Pack))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := pack.With(map[string]string{"operations": "200000"}, workload.InstanceVars{})
	if err != nil {
		t.Fatal(err)
	}
	image, own := testenv.Image(t), testenv.Owner(t, t.TempDir())
	registration, _ := environment.Lookup(Kind)
	for name, want := range map[string]float64{"without": 200_000, "with": 210_000} {
		o := Defaults()
		o.Costly = name == "with"
		e, err := registration.New(&o)
		if err == nil {
			err = e.Prepare(t.Context(), image, func(string) {})
		}
		if err != nil {
			t.Fatal(err)
		}
		i, err := e.Start(t.Context(), environment.Request{Name: name, Owner: own, Image: image, Console: io.Discard})
		if err != nil {
			t.Fatal(err)
		}
		var stdout strings.Builder
		exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: whole.Driver.CommandArgs(), Stdout: &stdout})
		if err != nil || !exit.OK() {
			t.Errorf("%+v, %v: %s", exit, err, &stdout)
		}
		parsed, err := whole.Parse([]byte(stdout.String()))
		if err != nil || len(parsed.Missing) > 0 || parsed.Metrics["iterations"] != want || parsed.Metrics["spin_seconds"] <= 0 {
			t.Errorf("%s the handicap: %+v, %v: %s", name, parsed, err, &stdout)
		}
		if err := i.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
