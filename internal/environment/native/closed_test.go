package native

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/environment"
	"tare/internal/environment/oci"
	"tare/internal/linux/capability"
	"tare/internal/testing/testenv"
)

// refused lists what an image's root must not reach: a command, and what it prints.
var refused = []struct{ command, says string }{
	{"head -c1 /disk", "Permission denied"}, // a node that the image contains
	{"mknod /sda b 8 0", "Operation not permitted"},
	{"mount -t tmpfs none /mnt", "permission denied"},
	{fmt.Sprintf("ls /proc/%d/root/", os.Getpid()), "Permission denied"}, // a process of the host
	{"dmesg -n 1", "permitted"},
	{"echo 1 >/proc/irq/default_smp_affinity", "Read-only"},
	{"echo 1 >/proc/sys/kernel/panic", "Read-only"},
	{"touch /sys/kernel/mm/transparent_hugepage/enabled", "Read-only"},
	{"hostname other", "you must be root"},
}

func TestTheImagesRootReachesNoDiskAndNoSettingOfTheKernel(t *testing.T) {
	b := newBench(t)
	for _, root := range []string{"folder", "overlay"} {
		o := with("image")
		o.Root = root
		i := b.start(t, o, environment.Limits{})
		directory := filepath.Join(b.owner.Home(), "work", b.owner.ID(), "a-1", "root")
		if err := unix.Mknod(filepath.Join(directory, "disk"), unix.S_IFBLK|0o666, int(unix.Mkdev(7, 0))); err != nil {
			t.Fatal(err)
		}
		if got := testenv.Run(t, i, "cd /dev && echo $(ls -A)"); got != "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero" {
			t.Errorf("/dev has %s", got)
		}
		testenv.Run(t, i, `: >/dev/null && head -c9 /dev/urandom >/dev/shm/file && echo x | tee /dev/stdout >/dev/null &&
			[ "$(head -c4 /dev/zero | wc -c)" = 4 ] && ! : >/dev/full 2>/dev/null || [ -c /dev/full ]`)
		for _, c := range refused {
			if got := testenv.Run(t, i, "LC_ALL=C; ("+c.command+") 2>&1 || true"); !strings.Contains(got, c.says) {
				t.Errorf("root: %s: %s prints %q", root, c.command, got)
			}
		}
		if got := testenv.Run(t, i, "cat /proc/kcore /proc/timer_list /proc/keys 2>/dev/null; ls -A /sys/firmware"); got != "" {
			t.Errorf("paths that are hidden show %q", got)
		}
		want, _ := oci.CapabilitiesOf(oci.PodmanCapabilities, nil)
		for _, who := range []string{"self", fmt.Sprint(i.Agent().Hello().PID)} {
			if got := capabilities(t, i, who); fmt.Sprint(got) != fmt.Sprint(inOrder(want)) {
				t.Errorf("process %s has %q", who, got)
			}
		}
		if err := i.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// inOrder are capabilities in the kernel's order.
func inOrder(list []string) []string {
	return slices.DeleteFunc(slices.Clone(capability.Names), func(name string) bool { return !slices.Contains(list, name) })
}

// capabilities that a process can have or get.
func capabilities(t *testing.T, i environment.Instance, process string) []string {
	t.Helper()
	lines := strings.Fields(testenv.Run(t, i, "grep -E 'Cap(Prm|Bnd)' /proc/"+process+"/status"))
	if len(lines) != 4 || lines[1] != lines[3] {
		t.Fatalf("the process has %q", lines)
	}
	set, err := capability.Parse(lines[1])
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestAnInstanceThatIsOpenMountsWithoutTheHostSeeingIt(t *testing.T) {
	b := newBench(t)
	open := with("image")
	open.Dev, open.Proc, open.Capabilities = "host", "host", "all"
	for _, o := range []Options{open, with("host")} {
		i := b.start(t, o, environment.Limits{})
		testenv.Run(t, i, fmt.Sprintf("mount -t tmpfs none /mnt && touch /mnt/file && ls /proc/%d/root/ && ! grep ' /proc/sys ' /proc/self/mountinfo", os.Getpid()))
		// Others mount and unmount elsewhere meanwhile.
		if mounts := readAll(t, "/proc/self/mountinfo"); strings.Contains(mounts, " / /mnt ") {
			t.Errorf("the host sees what the instance mounted: %s", mounts)
		}
		if got, want := len(strings.Fields(testenv.Run(t, i, "ls -A /dev"))), len(entries(t, "/dev")); got < want-2 {
			t.Errorf("/dev has %d entries, the host's %d", got, want)
		}
		if err := i.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func entries(t *testing.T, directory string) []os.DirEntry {
	t.Helper()
	list, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestTheImagesVariablesReachCommandsAndNotTheAgent(t *testing.T) {
	b := newBench(t)
	own := *b.image
	own.Env = append([]string{"LD_PRELOAD=", "MARK=of the image\nin two lines", "HOME=/srv"}, own.Env...)
	b.image = &own
	i := b.start(t, with("image"), environment.Limits{})
	if got := testenv.Run(t, i, `echo "$MARK $HOME"`); got != "of the image\nin two lines /srv" {
		t.Errorf("a command has the variables %q", got)
	}
	for _, pid := range testenv.InstancePIDs(i) {
		for _, file := range []string{"environ", "cmdline"} {
			if text := readAll(t, fmt.Sprintf("/proc/%d/%s", pid, file)); strings.Contains(text, "MARK") {
				t.Errorf("%s of process %d shows the image's variables: %q", file, pid, text)
			}
		}
	}
}
