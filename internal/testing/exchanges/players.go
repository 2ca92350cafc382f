package exchanges

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"go.uber.org/goleak"

	"tare/internal/testing/needs"
)

// asDouble is the variable that makes a test program the double.
const asDouble = "TARE_TEST_DOUBLE"

// Main is the TestMain of a double's package, whose main function is given.
func Main(m *testing.M, double func()) {
	if os.Getenv(asDouble) != "" {
		double()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// TestDouble holds the double of this test program to a recording. Its version has
// to be the recording's. arguments are those that every session has.
func TestDouble(t *testing.T, file, version string, arguments ...string) {
	t.Helper()
	want, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if version != want.Version {
		t.Errorf("the double is a %s, and %s is of %s", version, file, want.Version)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	got, _ := want.Play(t, Player{
		Command: func(more ...string) *exec.Cmd {
			cmd := exec.Command(self, append(arguments, more...)...)
			cmd.Env = append(os.Environ(), asDouble+"=1")
			return cmd
		},
		NeedsGuest: func(t testing.TB) { needs.Program(t, "qemu-system-x86_64") },
	})
	got.Program, got.Version = "its double", version
	Compare(t, want, got, true)
}

// TestReal plays a recording with a real program and compares the answers, or writes
// them; see Renew.
func TestReal(t *testing.T, file, program string, arguments ...string) {
	t.Helper()
	want, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	got, complete := want.Play(t, Player{
		Command:    func(more ...string) *exec.Cmd { return exec.Command(program, append(arguments, more...)...) },
		NeedsGuest: NeedsKVM,
	})
	got.Version = version(t, program)
	if os.Getenv(Renew) == "" {
		Compare(t, want, got, false)
		return
	}
	if !complete {
		t.Fatal("a session was not played to its end: nothing is written")
	}
	if err := got.Write(file); err != nil {
		t.Fatal(err)
	}
	t.Logf("written: %s, of %s %s", file, got.Program, got.Version)
}

// Program returns the path of a real VMM, which a variable or its name on the PATH
// names; without one the test is skipped.
func Program(t testing.TB, variable, name string) string {
	t.Helper()
	needs.Real(t)
	named := os.Getenv(variable)
	if named == "" {
		named = name
	}
	path, err := exec.LookPath(named)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		t.Skipf("needs the program %s, or its path in %s: %v", name, variable, err)
	}
	return path
}

// NeedsKVM skips the test without KVM. Its speed does not matter.
func NeedsKVM(t testing.TB) {
	t.Helper()
	f, err := os.OpenFile("/dev/kvm", os.O_RDWR, 0)
	needs.Working(t, "/dev/kvm", err)
	f.Close()
}

var versionNumber = regexp.MustCompile(`\bv?(\d+\.\d+\S*)`)

// version is what a program says of itself.
func version(t *testing.T, program string) string {
	t.Helper()
	output, err := exec.Command(program, "--version").CombinedOutput()
	match := versionNumber.FindSubmatch(output)
	if err != nil || match == nil {
		t.Fatalf("%s --version: %v: %s", program, err, output)
	}
	return string(match[1])
}
