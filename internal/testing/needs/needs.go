// Package needs skips tests that cannot run here, with a reason "needs X: why".
//
// With -short, which `make check` sets, it skips every test that uses more than
// Go and the files of this repository: the quick check gives the same result for
// every user on every machine, and `make test` runs the rest.
//
// It must not know this project: it imports the standard library alone, so that
// the tests of every package can import it.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

// LeftOut is how the reason of each skip ends that -short alone causes.
// scripts/allowed-skips allows it.
const LeftOut = "left out by -short"

func short(t testing.TB, what string) {
	t.Helper()
	if testing.Short() {
		t.Skipf("needs %s: %s", what, LeftOut)
	}
}

// Root skips the test unless root runs it.
func Root(t testing.TB) {
	t.Helper()
	short(t, "root")
	if uid := os.Geteuid(); uid != 0 {
		t.Skipf("needs root: the user is %d", uid)
	}
}

// Program skips the test unless all these programs are on the PATH.
func Program(t testing.TB, names ...string) {
	t.Helper()
	for _, name := range names {
		short(t, name)
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("needs %s: %v", name, err)
		}
	}
}

// Network skips the test with -short: it connects to other machines.
func Network(t testing.TB) {
	t.Helper()
	short(t, "the network")
}

// Minutes skips the test with -short: it takes long, for the reason given.
func Minutes(t testing.TB, why string) {
	t.Helper()
	short(t, "minutes: "+why)
}

// Real skips the test with -short: it starts real containers, sandboxes, guests
// or groups, or measures time on this machine.
func Real(t testing.TB) {
	t.Helper()
	short(t, "the real thing")
}

// Cluster skips the test unless scripts/with-cluster.sh runs it, as `make
// test-kubernetes` does, and returns the folder of the cluster.
func Cluster(t testing.TB) string {
	t.Helper()
	short(t, "a cluster")
	folder := os.Getenv("TARE_TEST_CLUSTER")
	if folder == "" {
		t.Skipf("needs a cluster: make test-kubernetes")
	}
	return folder
}

// LongForm skips the test in the short form of make test and make test-kubernetes, which
// CI runs at each change: it takes minutes, for the reason given.
func LongForm(t testing.TB, why string) {
	t.Helper()
	short(t, "minutes: "+why)
	if ShortForm() {
		t.Skipf("needs the long form: %s", why)
	}
}

// ShortForm reports whether tests run in their short form (SHORT=1), or with -short:
// simulations have fewer runs then.
func ShortForm() bool { return testing.Short() || os.Getenv("TARE_TEST_SHORT") != "" }

// Disk returns a directory for a test that is about a disk, below /var/tmp, and removes it
// at the end: temporary files of other tests may be in memory (scripts/with-memory.sh).
func Disk(t testing.TB) string {
	t.Helper()
	directory, err := os.MkdirTemp("/var/tmp", "tare-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(directory); err != nil {
			t.Error(err)
		}
	})
	return directory
}

// Working skips the test if an attempt to use something of this machine failed:
// a mount, a device, an engine. The reason is the error of the attempt.
func Working(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Skipf("needs %s: %v", what, err)
	}
}
