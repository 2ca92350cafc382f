package needs

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
)

// recorder notes the reason of a skip. A real one would end the test here.
type recorder struct {
	testing.TB
	reason string
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any) {
	if r.reason == "" {
		r.reason = fmt.Sprintf(format, args...)
	}
}

func reasonOf(need func(t testing.TB)) string {
	r := &recorder{}
	need(r)
	return r.reason
}

func TestEverySkipSaysWhatIsMissing(t *testing.T) {
	const absent = "tare-no-such-program"
	program := reasonOf(func(t testing.TB) { Program(t, absent) })
	root := reasonOf(Root)
	if testing.Short() {
		for reason, what := range map[string]string{
			program: absent, root: "root", reasonOf(Network): "the network", reasonOf(Real): "the real thing",
			reasonOf(func(t testing.TB) { Cluster(t) }):              "a cluster",
			reasonOf(func(t testing.TB) { Minutes(t, "it builds") }): "minutes: it builds",
		} {
			if want := "needs " + what + ": " + LeftOut; reason != want {
				t.Errorf("the reason is %q, not %q", reason, want)
			}
		}
	} else {
		if !strings.HasPrefix(program, "needs "+absent+": ") {
			t.Errorf("a missing program: %q", program)
		}
		if got := reasonOf(func(t testing.TB) { Program(t, "sh") }); got != "" {
			t.Errorf("a program that exists: %q", got)
		}
		if want := os.Geteuid() != 0; strings.HasPrefix(root, "needs root: ") != want {
			t.Errorf("root: %q", root)
		}
		for _, need := range []func(testing.TB){Network, Real, func(t testing.TB) { Minutes(t, "it builds") }} {
			if got := reasonOf(need); got != "" {
				t.Errorf("skipped without -short: %q", got)
			}
		}
	}
	if !testing.Short() {
		t.Setenv("TARE_TEST_CLUSTER", "")
		if got := reasonOf(func(t testing.TB) { Cluster(t) }); got != "needs a cluster: make test-kubernetes" {
			t.Errorf("without a cluster: %q", got)
		}
		t.Setenv("TARE_TEST_CLUSTER", "/cluster")
		if got := reasonOf(func(t testing.TB) {
			if folder := Cluster(t); folder != "/cluster" {
				t.Errorf("the folder of the cluster is %q", folder)
			}
		}); got != "" {
			t.Errorf("with a cluster: %q", got)
		}
	}
	if got := reasonOf(func(t testing.TB) { Working(t, "mounts", errors.New("refused")) }); got != "needs mounts: refused" {
		t.Errorf("a failed attempt: %q", got)
	}
	if got := reasonOf(func(t testing.TB) { Working(t, "mounts", nil) }); got != "" {
		t.Errorf("an attempt that worked: %q", got)
	}
}
