package run

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/freeport"
	"tare/internal/testing/needs"
)

// servedPlan has a server that listens at a port, and closes it only a while after
// it was told to end.
func servedPlan(t *testing.T, port, blocks int) *study.Plan {
	t.Helper()
	needs.Program(t, "perl")
	pack := filepath.Join(t.TempDir(), "served.yaml")
	text := fmt.Sprintf(`
workload: served
stresses: network
servers:
  - run: |
      perl -MIO::Socket::INET -e '
        my $s = IO::Socket::INET->new(LocalAddr => "127.0.0.1:%[1]d", Listen => 9, ReuseAddr => 1) or die "cannot listen: $!";
        $SIG{TERM} = sub { select(undef, undef, undef, .6); exit };
        while (1) { my $c = $s->accept }' &
      wait
    ready: {tcp: "127.0.0.1:%[1]d", timeout: 20s}
driver: {run: "echo rate 5"}
parser: {regex: ['rate (?P<rate>\d+)']}
metrics: [{name: rate, unit: op/s, better: higher, primary: true}]
`, port)
	if err := os.WriteFile(pack, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return plan(t, "[{use: "+pack+"}]", fmt.Sprintf("{blocks: %d, fresh: run}", blocks), "{a: {kind: bare}}")
}

func TestAnotherProcessOnAServersPortFailsTheTrial(t *testing.T) {
	stranger, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	r := execute(t, t.Context(), Options{Plan: servedPlan(t, stranger.Addr().(*net.TCPAddr).Port, 1)})
	for _, trial := range r.Run.Trials {
		if trial.Status == rundir.Skipped {
			continue
		}
		if trial.Status != rundir.Failed || !strings.Contains(trial.Reason, fmt.Sprintf("something answers at %s before server `perl", stranger.Addr())) ||
			!strings.Contains(trial.Reason, "end it, or set another port") {
			t.Errorf("%s: %s", trial.Status, trial.Reason)
		}
	}
	if len(r.Run.Trials) == 0 {
		t.Error("there is no trial")
	}
}

// The second trial comes while the first one's server still listens.
func TestAServerThatIsStillClosingIsWaitedFor(t *testing.T) {
	r := execute(t, t.Context(), Options{Plan: servedPlan(t, freeport.New(t), 2)})
	for _, trial := range r.Run.Trials {
		if trial.Status != rundir.OK {
			t.Errorf("block %d is %s: %s", trial.Block, trial.Status, trial.Reason)
		}
	}
	if len(r.Run.Trials) != 2 {
		t.Errorf("%d trials", len(r.Run.Trials))
	}
}
