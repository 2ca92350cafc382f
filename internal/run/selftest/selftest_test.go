package selftest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"tare/internal/run"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"

	_ "tare/internal/environment/native"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, testenv.EngineConnections()...) }

func TestMistakesAreFoundBeforeAnythingStarts(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string
	}{
		{func(o *Options) { o.Effects = []string{"5", "-1"} }, "--effects -1: must be a percentage of more work from 0 to 1000, quota or delay"},
		{func(o *Options) { o.Effects = []string{"much"} }, "--effects much: "},
		{func(o *Options) { o.Effects = []string{"NaN"} }, "--effects NaN: "},
		{func(o *Options) { o.Effects = nil }, "--effects: name at least one"},
		{func(o *Options) { o.Margin = "much" }, "--margin: "},
		{func(o *Options) { o.Margin = "0%" }, "--margin 0%: must lie between 0% and 100%"},
		{func(o *Options) { o.Sample = time.Millisecond }, "--sample 1ms: must be from 20ms to 10s"},
		{func(o *Options) { o.Time = 0 }, "--time 0s: must be more than 0"},
		{func(o *Options) { o.Cycle = 0 }, "--cycle 0s: must be more than 0"},
		{func(o *Options) { o.Environments = nil }, "--environment: name at least one"},
		{func(o *Options) { o.Environments = []string{"nativ"} }, `did you mean "native"?`},
		{func(o *Options) { o.Environments = []string{"native+rootf=host"} }, `unknown key "rootf"`},
		{func(o *Options) { o.Environments = []string{"native+rootfs"} }, "is not OPTION=VALUE"},
		{func(o *Options) { o.Environments = []string{"native", "native"} }, "--environment native: is named twice"},
	} {
		o := Options{Time: time.Minute, Cycle: time.Minute, Environments: []string{"native"}, Effects: DefaultEffects, Margin: "2%", Sample: DefaultSample}
		c.change(&o)
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %s", err, c.want)
		}
	}
}

func TestAShortTimeIsRemarkedOn(t *testing.T) {
	test := checked(t, "0")
	if remark := test.Remark(); remark != "" {
		t.Error(remark)
	}
	test.options.Time = time.Second
	if remark := test.Remark(); !strings.Contains(remark, "--time 1s is short: ") {
		t.Error(remark)
	}
}

// The values depend on the machine, so only the structure of the result is checked.
func TestANativeEnvironmentIsTested(t *testing.T) {
	needs.Real(t)
	needs.Root(t)
	testenv.NeedsAgent(t)
	testenv.Image(t)
	home := t.TempDir()
	if err := os.Symlink(testenv.Images(), filepath.Join(home, "images")); err != nil {
		t.Fatal(err)
	}
	test, err := New(Options{
		Run:  run.Options{Home: home, Version: "test", Directory: t.TempDir()},
		Time: 20 * time.Second, Cycle: time.Minute, Environments: []string{"native"}, Effects: []string{"10", quota, delay}, Margin: "2%", Sample: shortestSample,
	})
	if err != nil {
		t.Fatal(err)
	}
	s, err := test.Run(t.Context(), func(run.Event) {})
	if err != nil {
		t.Fatal(err)
	}
	if s.Interrupted || s.Cycles == 0 || s.Trials == 0 || s.Failed > 0 || len(s.Environments) != 1 || s.Environments[0].Operations == 0 || s.Environments[0].Requests == 0 || len(s.Skipped) > 0 {
		t.Errorf("%+v", s)
	}
	for _, o := range s.Rows {
		if o.Environment != "native" || o.N == 0 || o.Seconds <= 0 || (o.Truth == nil) != (o.Effect == "0.16 CPUs") {
			t.Errorf("%+v", o)
		}
	}
	var text strings.Builder
	s.Text(&text)
	t.Log(text.String())
}
