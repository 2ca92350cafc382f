package machinelock

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"tare/internal/testing/needs"
)

const role = "TARE_TEST_HOLD_LOCK" // the directory in which this program holds a lock

func TestMain(m *testing.M) {
	directory := os.Getenv(role)
	if directory == "" {
		goleak.VerifyTestMain(m)
		return
	}
	_, err := Take(context.Background(), directory, Holder{Run: "a run", Home: "a\nhome"}, func(h Holder) error { return fmt.Errorf("held by %s", h) })
	fmt.Println("taken", err)
	io.Copy(io.Discard, os.Stdin) // until it is killed, or the test is gone
	os.Exit(0)
}

// holder is another process with the lock, of another user if one is given.
func holder(t *testing.T, directory string, uid uint32) (pid int, kill func()) {
	t.Helper()
	cmd := exec.Command(filepath.Join(copied(t), "holder"))
	cmd.Env = append(os.Environ(), role+"="+directory)
	if uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	kill = func() { cmd.Process.Kill(); in.Close(); cmd.Wait() }
	t.Cleanup(kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "taken <nil>\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	return cmd.Process.Pid, kill
}

// public is a directory in which all users may make files.
func public(t *testing.T) string {
	t.Helper()
	directory := t.TempDir()
	for above := directory; above != os.TempDir() && above != "/"; above = filepath.Dir(above) {
		if err := os.Chmod(above, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(directory, os.ModeSticky|0o777); err != nil {
		t.Fatal(err)
	}
	return directory
}

var errHeld = errors.New("held")

// told takes the lock and returns what is said of the one that has it.
func told(t *testing.T, directory string) (*Lock, string) {
	t.Helper()
	said := ""
	lock, err := Take(t.Context(), directory, Holder{}, func(h Holder) error { said = h.String(); return errHeld })
	if err != nil && !errors.Is(err, errHeld) {
		t.Fatal(err)
	}
	return lock, said
}

func TestOneProcessAtATimeHasTheLockAndItGoesWithIt(t *testing.T) {
	directory := public(t)
	pid, kill := holder(t, directory, 0)
	if lock, said := told(t, directory); lock != nil || !regexp.MustCompile(fmt.Sprintf(`^process %d of \w+, run a run, home a\\u000ahome$`, pid)).MatchString(said) {
		t.Errorf("%v, %q", lock, said)
	}
	waiting, taken := make(chan Holder), make(chan *Lock)
	go func() {
		lock, err := Take(t.Context(), directory, Holder{Run: "mine"}, func(h Holder) error { waiting <- h; return nil })
		if err != nil {
			t.Error(err)
		}
		taken <- lock
	}()
	<-waiting
	kill()
	lock := <-taken
	if again, said := told(t, directory); again != nil || !strings.Contains(said, fmt.Sprint("process ", os.Getpid(), " of ")) {
		t.Errorf("%v, %q", again, said)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
	if lock, said := told(t, directory); lock == nil {
		t.Errorf("it was given back, and is held by %q", said)
	} else {
		lock.Release()
	}
}

func TestWhoWaitsCanBeInterrupted(t *testing.T) {
	directory := public(t)
	holder(t, directory, 0)
	ctx, cancel := context.WithCancel(t.Context())
	if lock, err := Take(ctx, directory, Holder{}, func(Holder) error { cancel(); return nil }); lock != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, %v", lock, err)
	}
}

const bob, carol = 65533, 65534

// Another user waits for root; root does not wait for another user, and hears of him.
func TestUsersSeeEachOther(t *testing.T) {
	needs.Root(t)
	directory := public(t)
	pid, kill := holder(t, directory, bob)
	lock, said := told(t, directory)
	if lock == nil || said != "" || len(lock.Others) != 1 || lock.Others[0].PID != pid || lock.Others[0].user != bob {
		t.Fatalf("%+v, %q", lock, said)
	}
	kill()
	for _, c := range []struct {
		holds func()
		want  string
	}{
		{func() {}, fmt.Sprintf("held by process %d of root", os.Getpid())},
		{func() { lock.Release(); pid, _ = holder(t, directory, bob) }, "held by process"},
	} {
		c.holds()
		cmd := exec.Command(filepath.Join(copied(t), "holder"))
		cmd.Env = append(os.Environ(), role+"="+directory)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: carol, Gid: carol}}
		if output, err := cmd.CombinedOutput(); !strings.Contains(string(output), c.want) {
			t.Errorf("%v: %s", err, output)
		}
	}
}

// copied is a directory that all users reach with this program, called holder.
func copied(t *testing.T) string {
	t.Helper()
	directory := public(t)
	text, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(directory, "holder"), text, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return directory
}

// A file that another user has made under the name holds nothing up, nor does a link.
func TestAForgedFileHoldsNobodyUp(t *testing.T) {
	needs.Root(t)
	directory := public(t)
	forged := filepath.Join(directory, "tare-0-0.lock")
	if err := errors.Join(os.WriteFile(forged, []byte(`{"pid": 1}`), 0o666), os.Chmod(forged, 0o666), os.Chown(forged, bob, bob)); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(forged)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	target := filepath.Join(directory, "precious")
	if err := errors.Join(syscall.Flock(int(file.Fd()), syscall.LOCK_EX), os.WriteFile(target, []byte("precious"), 0o600),
		os.Symlink(target, filepath.Join(directory, "tare-0-1.lock")), os.Link(target, filepath.Join(directory, "tare-0-2.lock")), syscall.Mkfifo(filepath.Join(directory, "tare-0-3.lock"), 0o666)); err != nil {
		t.Fatal(err)
	}
	lock, said := told(t, directory)
	if lock == nil || filepath.Base(lock.file.Name()) != "tare-0-4.lock" {
		t.Fatalf("%+v, %q", lock, said)
	}
	defer lock.Release()
	if text, err := os.ReadFile(target); string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
}
