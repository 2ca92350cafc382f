package cleanup

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"tare/internal/linux/cgroup"
	"tare/internal/linux/private"
	"tare/internal/testing/needs"
)

// A test that needs an owner in a process of its own starts this binary again.
func TestMain(m *testing.M) {
	if home := os.Getenv("TARE_TEST_OWNER"); home != "" {
		if err := hold(home, os.Getenv("TARE_TEST_HOLD")); err != nil {
			fmt.Println("error:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// hold opens an owner, makes what is asked for, says its id and waits to be
// killed.
func hold(home, what string) error {
	o, err := Open(home)
	if err != nil {
		return err
	}
	dir, err := o.Directory("vm")
	if err != nil {
		return err
	}
	output := []string{o.ID()}
	if strings.Contains(what, "process") {
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			return err
		}
		if _, err := o.Adopt(cmd.Process.Pid, "vmm of vm"); err != nil {
			return err
		}
		output = append(output, fmt.Sprint(cmd.Process.Pid))
		if strings.Contains(what, "frozen") {
			if err := freeze(o.Cgroup("vm"), cmd.Process.Pid); err != nil {
				return err
			}
		}
	}
	if strings.Contains(what, "cgroup") {
		g, err := cgroup.Create(o.Cgroup("vm"), cgroup.Limits{})
		if err != nil {
			return err
		}
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			return err
		}
		if err := g.Add(cmd.Process.Pid); err != nil {
			return err
		}
		output = append(output, fmt.Sprint(cmd.Process.Pid))
	}
	if strings.Contains(what, "mount") {
		script := `cd "$1" && truncate -s 8M disk && mkfs.ext4 -q disk && mkdir -p a "b c" && mount -o loop disk a &&
			mkdir a/in && mount -t tmpfs none a/in && mount --bind a "b c" && losetup -f disk`
		if out, err := exec.Command("sh", "-c", script, "sh", dir).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	fmt.Println(strings.Join(output, " "))
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// freeze freezes a process in a group of its own, by v1's freezer if there is one, since
// SIGKILL alone does not end it there.
func freeze(path string, pid int) error {
	const v1 = "/sys/fs/cgroup/freezer"
	if _, err := os.Stat(v1); err != nil {
		g, err := cgroup.Create(path, cgroup.Limits{})
		if err != nil {
			return err
		}
		return errors.Join(g.Add(pid), g.Freezer(true).Freeze(context.Background()))
	}
	return errors.Join(os.MkdirAll(v1+path, 0o755),
		os.WriteFile(v1+path+"/cgroup.procs", []byte(fmt.Sprint(pid)), 0),
		os.WriteFile(v1+path+"/freezer.state", []byte("FROZEN"), 0))
}

// start returns an owner's process, its id and the processes that it holds.
func start(t *testing.T, home, what string) (kill func(), id string, pids []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "TARE_TEST_OWNER="+home, "TARE_TEST_HOLD="+what)
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	once := sync.OnceFunc(func() { cmd.Process.Kill(); in.Close(); cmd.Wait() })
	t.Cleanup(once)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || strings.HasPrefix(line, "error") {
		t.Fatalf("the owner's process said %q, %v", line, err)
	}
	words := strings.Fields(line)
	return once, words[0], words[1:]
}

func lives(pid string) bool {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	return err == nil && !strings.Contains(string(data), ") Z ")
}

func TestASweepRemovesEverythingOfAKilledOwnerAndNothingOfARunningOne(t *testing.T) {
	needs.Root(t)
	what := "process cgroup"
	if _, err := os.Stat("/dev/loop-control"); err == nil {
		what += " mount"
	}
	home := t.TempDir()
	killDead, deadID, deadPIDs := start(t, home, what)
	killLiving, livingID, livingPIDs := start(t, home, what)
	t.Cleanup(func() {
		killLiving()
		if _, err := Sweep(context.Background(), home); err != nil {
			t.Error(err)
		}
	})
	killDead()

	if !Dead(home, deadID) || Dead(home, livingID) {
		t.Fatalf("dead: %v, living: %v", Dead(home, deadID), !Dead(home, livingID))
	}
	if alive, err := Alive(home); err != nil || !slices.Equal(alive, []string{livingID}) {
		t.Errorf("alive are %v, %v", alive, err)
	}
	would, err := Look(t.Context(), home, map[string]Sweeper{"docker": func(_ context.Context, _ string, dead func(string) bool) ([]string, error) {
		if dead(deadID) || dead(livingID) {
			t.Error("a sweeper that looks may remove something")
		}
		return nil, nil
	}})
	if err != nil || !lives(deadPIDs[0]) {
		t.Fatal("looking removed a process, or failed: ", err)
	}
	asked := map[string]bool{}
	removed, err := Sweep(context.Background(), home, func(_ context.Context, swept string, dead func(string) bool) ([]string, error) {
		if swept != home {
			t.Errorf("the sweeper hears of home %s, not %s", swept, home)
		}
		asked[deadID], asked[livingID], asked["other"] = dead(deadID), dead(livingID), dead("other")
		return []string{"container"}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !asked[deadID] || asked[livingID] || asked["other"] {
		t.Errorf("the sweeper was told that these are dead: %v", asked)
	}
	t.Logf("removed:\n%s", strings.Join(removed, "\n"))
	named := slices.DeleteFunc(slices.Clone(removed), func(line string) bool { return line == "container" })
	named = append(named, "what docker has of the dead process "+deadID)
	for _, line := range named { // and a loop device that goes with its mount
		if !slices.Contains(would, line) || len(would) > len(named)+1 {
			t.Errorf("a look, before that, named %q: %v; all of it:\n%s", line, slices.Contains(would, line), strings.Join(would, "\n"))
		}
	}
	want := map[string]int{"process ": 2, "cgroup ": 1, "container": 1, "directory ": 1}
	if strings.Contains(what, "mount") {
		want["mount "], want["loop device "] = 3, 1
	}
	for prefix, n := range want {
		got := 0
		for _, line := range removed {
			if strings.HasPrefix(line, prefix) {
				got++
			}
		}
		if got != n {
			t.Errorf("%d lines begin with %q, want %d", got, prefix, n)
		}
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	loops, _ := exec.Command("losetup", "-a").Output()
	for _, table := range []string{string(mounts), string(loops)} {
		if strings.Contains(table, deadID) {
			t.Errorf("the dead owner %s is still in:\n%s", deadID, table)
		}
		if strings.Contains(what, "mount") && !strings.Contains(table, livingID) {
			t.Errorf("the living owner %s is no more in:\n%s", livingID, table)
		}
	}
	for _, pid := range deadPIDs {
		if lives(pid) {
			t.Errorf("process %s of the dead owner lives", pid)
		}
	}
	for _, pid := range livingPIDs {
		if !lives(pid) {
			t.Errorf("process %s of the living owner is gone", pid)
		}
	}
	for id, want := range map[string]bool{deadID: false, livingID: true} {
		if g, _ := cgroup.At(CgroupRoot() + "/" + id); g.Exists() != want {
			t.Errorf("the cgroup of owner %s exists: %v", id, !want)
		}
		if _, err := os.Stat(filepath.Join(home, "work", id)); (err == nil) != want {
			t.Errorf("the directory of owner %s: %v", id, err)
		}
	}
	if removed, err := Sweep(context.Background(), home); err != nil || len(removed) > 0 {
		t.Errorf("a second sweep removed %v, %v", removed, err)
	}
}

func TestASweepEndsFrozenProcesses(t *testing.T) {
	needs.Root(t)
	if cgroup.Mode() == "" {
		t.Skip("needs a cgroup hierarchy: none is mounted")
	}
	home := t.TempDir()
	kill, id, pids := start(t, home, "process frozen")
	kill()
	if _, err := Sweep(t.Context(), home, func(context.Context, string, func(string) bool) ([]string, error) {
		frozen, _ := os.ReadFile("/sys/fs/cgroup/freezer" + CgroupRoot() + "/" + id + "/vm/freezer.state")
		if strings.Contains(string(frozen), "FR") {
			t.Errorf("a sweeper is called while the instance is %s", frozen)
		}
		return nil, nil
	}); err != nil {
		t.Error(err)
	}
	if lives(pids[0]) {
		t.Errorf("process %s lives", pids[0])
	}
	if g, _ := cgroup.At(CgroupRoot() + "/" + id); g.Exists() {
		t.Errorf("the cgroup %s exists", g.Path())
	}
}

func TestAProcessWithAReusedPIDIsNotKilled(t *testing.T) {
	home := t.TempDir()
	kill, id, _ := start(t, home, "")
	kill()
	other := exec.Command("sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { other.Process.Kill(); other.Wait() }()
	pid := fmt.Sprint(other.Process.Pid)
	dir := filepath.Join(dirOf(home, id), processDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, pid), []byte("1 vmm of vm\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Sweep(context.Background(), home); err != nil {
		t.Fatal(err)
	}
	if !lives(pid) {
		t.Error("a process with another start time was killed")
	}
}

func TestCgroupsOfAHomeWhoseDirectoriesWereDeletedAreStillFound(t *testing.T) {
	needs.Root(t)
	home, other := t.TempDir(), t.TempDir()
	kill, id, pids := start(t, home, "cgroup")
	kill()
	killOther, otherID, otherPIDs := start(t, other, "cgroup")
	defer func() { killOther(); Sweep(context.Background(), other) }()
	for _, dir := range []string{dirOf(home, id), dirOf(other, otherID)} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Sweep(context.Background(), home); err != nil {
		t.Fatal(err)
	}
	if lives(pids[0]) || !lives(otherPIDs[0]) {
		t.Errorf("own process lives: %v; the other home's: %v", lives(pids[0]), lives(otherPIDs[0]))
	}
}

func TestOpeningAnOwnerDuringASweepIsSafe(t *testing.T) {
	home := t.TempDir()
	var sweeping, opening sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		sweeping.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := Sweep(context.Background(), home); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 4 {
		opening.Go(func() {
			for range 25 {
				o, err := Open(home)
				if err != nil {
					t.Error(err)
					return
				}
				dir, err := o.Directory("a-1")
				if err != nil {
					t.Error(err)
				}
				if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
					t.Error(err)
				}
				if Dead(home, o.ID()) {
					t.Errorf("living owner %s counts as dead", o.ID())
				}
				if err := o.Close(); err != nil {
					t.Error(err)
				}
				if !Dead(home, o.ID()) {
					t.Errorf("closed owner %s counts as alive", o.ID())
				}
			}
		})
	}
	opening.Wait()
	close(stop)
	sweeping.Wait()
	if ids, err := list(home); err != nil || len(ids) > 0 {
		t.Errorf("left are %v, %v", ids, err)
	}
}

func TestCloseReportsAndRemovesLeftovers(t *testing.T) {
	o, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "1000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	if _, err := o.Adopt(cmd.Process.Pid, "proxy"); err != nil {
		t.Fatal(err)
	}
	gone := exec.Command("true")
	if err := gone.Start(); err != nil {
		t.Fatal(err)
	}
	release, err := o.Adopt(gone.Process.Pid, "logger")
	if err != nil {
		t.Fatal(err)
	}
	gone.Wait()
	release()
	err = o.Close()
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("process %d (proxy)", cmd.Process.Pid)) || strings.Contains(err.Error(), "logger") {
		t.Errorf("closing with a process said %v", err)
	}
	if lives(fmt.Sprint(cmd.Process.Pid)) {
		t.Error("the process lives")
	}
	if err := o.Close(); err != nil {
		t.Errorf("closing twice said %v", err)
	}
}

func TestABusyMountIsDetachedBeforeItsDirectoryIsRemoved(t *testing.T) {
	needs.Root(t)
	home := t.TempDir()
	o, err := Open(home)
	if err != nil {
		t.Fatal(err)
	}
	dir, _ := o.Directory("a")
	source := t.TempDir()
	if err := os.WriteFile(filepath.Join(source, "precious"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	needs.Working(t, "mounts", unix.Mount(source, dir, "", unix.MS_BIND, ""))
	held, err := os.Open(filepath.Join(dir, "precious")) // busy
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := o.Close(); err == nil || !strings.Contains(err.Error(), "mount "+dir) {
		t.Errorf("closing with a mount said %v", err)
	}
	if _, err := os.Stat(filepath.Join(source, "precious")); err != nil {
		t.Errorf("what was mounted below the directory was removed with it: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the dir: %v", err)
	}
}

func TestInstanceNamesCannotLeaveTheDirectory(t *testing.T) {
	o, err := Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	for _, name := range []string{"", "..", "a/b", ".lock", "-a"} {
		if dir, err := o.Directory(name); err == nil {
			t.Errorf("%q became the directory %s", name, dir)
		}
	}
}

func TestAHomeThatEnginesWouldTruncateIsRejected(t *testing.T) {
	for _, name := range []string{"a,b", "a:b", `a"b`, "a\nb"} {
		home := filepath.Join(t.TempDir(), name)
		if o, err := Open(home); err == nil {
			o.Close()
			t.Errorf("an owner was opened in %q", home)
		} else if !strings.Contains(err.Error(), "--home") {
			t.Error(err)
		}
	}
}

// another is a user who owns nothing here.
const another = 65534

func TestAHomeOfAnotherUserIsRefusedAndNothingItNamesIsKilled(t *testing.T) {
	needs.Root(t)
	home := t.TempDir()
	victim := exec.Command("sleep", "1000")
	if err := victim.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { victim.Process.Kill(); victim.Wait() }()
	canonicalHome, err := canonical(home)
	if err != nil {
		t.Fatal(err)
	}
	directory := dirOf(home, newID(canonicalHome))
	if err := os.MkdirAll(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := record(directory, victim.Process.Pid, "vmm"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(filepath.Join(directory, lockFile), nil, 0o644), os.Chown(home, another, another)); err != nil {
		t.Fatal(err)
	}
	if removed, err := Sweep(t.Context(), home); !errors.Is(err, private.ErrForeign) || len(removed) > 0 {
		t.Errorf("a sweep removed %q: %v", removed, err)
	}
	if pid := fmt.Sprint(victim.Process.Pid); !lives(pid) {
		t.Error("the process that the home names was killed")
	}
	if o, err := Open(home); !errors.Is(err, private.ErrForeign) || !strings.Contains(err.Error(), home+" belongs to nobody") || !strings.Contains(err.Error(), "--home") {
		t.Errorf("%v, %v", o, err)
	}
}

func TestNoOtherUserReachesWhatAnOwnerHas(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	for _, before := range []func() error{
		func() error { return nil },
		func() error { return os.Chmod(workOf(home), 0o755) }, // of an older tare
	} {
		if err := before(); err != nil {
			t.Fatal(err)
		}
		o, err := Open(home)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := o.Directory("one")
		if err != nil {
			t.Fatal(err)
		}
		for _, directory := range []string{home, workOf(home), dirOf(home, o.ID()), instance} {
			if info, err := os.Stat(directory); err != nil {
				t.Error(err)
			} else if info.Mode().Perm() != 0o700 {
				t.Errorf("%s is open to other users: %v", directory, info.Mode())
			}
		}
		if err := o.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestAHomeInWhichNothingCanBeMadeIsNamed(t *testing.T) {
	if _, err := Open("/proc/self"); err == nil || !strings.Contains(err.Error(), "nothing can be made in tare's home /proc/") || !strings.Contains(err.Error(), "--home") {
		t.Error(err)
	}
}

// A sweep finds an engine that is not at its usual place by what owners noted.
func TestWhatOwnersNoteIsFoundInAHomeOfAnyName(t *testing.T) {
	for _, name := range []string{"plain", `a\nb`, "[home]", "what?", "*"} {
		home := filepath.Join(t.TempDir(), name)
		for _, instance := range []string{"first/one", "second/two"} {
			directory := filepath.Join(workOf(home), instance)
			err := os.MkdirAll(directory, 0o700)
			if err == nil {
				err = os.WriteFile(filepath.Join(directory, "engine"), []byte(instance), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if got := Noted(home, "engine"); !slices.Equal(got, []string{"first/one", "second/two"}) {
			t.Errorf("in a home called %q: %q", name, got)
		}
	}
}
