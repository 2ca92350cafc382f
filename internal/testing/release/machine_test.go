package release

import (
	"archive/tar"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// machine is a root file system in which commands run as on a machine of its own: with its
// mounts and its processes, but with the kernel, the network and the cgroups of this one.
type machine struct {
	root  string
	binds []string // FROM:TO, below the root
}

// enter makes a directory the root. The old one is unmounted, so that programs may change
// the propagation of mounts, which they may not in a chroot.
const enter = `set -e
root=$1 binds=$2; shift 2
mount --make-rprivate /
mount --bind "$root" "$root"
cd "$root"
mkdir -p mnt dev proc sys run
mount --rbind /dev dev
mount -t proc proc proc
mount --rbind /sys sys
mount -t tmpfs tmpfs run
mkdir -p run/lock
for bind in $binds; do mkdir -p "./${bind#*:}"; mount --bind "${bind%:*}" "./${bind#*:}"; done
pivot_root . mnt
umount -l /mnt
exec /usr/bin/env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"`

// run runs a shell's line in the machine, and returns what it printed and its status.
func (m machine) run(t *testing.T, line string) (string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "unshare", "--mount", "--pid", "--fork", "--kill-child",
		"bash", "-c", enter, "enter", m.root, strings.Join(m.binds, " "), "bash", "-c", line)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatalf("%s: %v", line, err)
	}
	t.Logf("# %s\n%s", line, out)
	return string(out), cmd.ProcessState.ExitCode()
}

// must fails the test unless the line succeeds and prints all of what is wanted.
func (m machine) must(t *testing.T, line string, wanted ...string) {
	t.Helper()
	out, status := m.run(t, line)
	if status != 0 {
		t.Fatalf("%s: exit status %d", line, status)
	}
	for _, text := range wanted {
		if !strings.Contains(out, text) {
			t.Errorf("%s: no %q in what it prints", line, text)
		}
	}
}

// bareDebian is a machine with the distribution's essential packages alone, and the package
// sources of this one.
func bareDebian(t *testing.T) machine {
	t.Helper()
	m := machine{root: t.TempDir()}
	sh(t, "tar", "--extract", "--file", testenv.Image(t).Tar(), "--directory", m.root)
	for _, name := range []string{"apt", "resolv.conf", "hosts"} {
		sh(t, "cp", "-a", "/etc/"+name, filepath.Join(m.root, "etc")+"/")
	}
	sh(t, "cp", "-a", "/usr/share/keyrings", filepath.Join(m.root, "usr/share")+"/")
	return m
}

// binfmt is where the kernel is told which program runs those of another architecture.
const binfmt = "/proc/sys/fs/binfmt_misc"

// emulateARM64 makes the kernel run programs for arm64 with QEMU's user emulation until the
// end of the test.
func emulateARM64(t *testing.T) {
	t.Helper()
	needs.Program(t, "qemu-aarch64-static")
	if _, err := os.Stat(binfmt + "/register"); err != nil {
		needs.Working(t, "binfmt_misc", unix.Mount("none", binfmt, "binfmt_misc", 0, ""))
		t.Cleanup(func() {
			if err := unix.Unmount(binfmt, 0); err != nil {
				t.Error(err)
			}
		})
	}
	if out, _ := exec.Command("grep", "-ls", "^interpreter .*aarch64", "-r", binfmt).Output(); len(out) > 0 {
		return // as the distribution's package does it
	}
	program, err := exec.LookPath("qemu-aarch64-static")
	if err != nil {
		t.Fatal(err)
	}
	// The header of an ELF program for arm64, as QEMU's own script has it. F opens the
	// emulator now, so that it is found in every root, and O the program: the agent is executed
	// by a descriptor that is closed then.
	const rule = `:tare-test-arm64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:`
	needs.Working(t, "a rule of binfmt_misc", os.WriteFile(binfmt+"/register", []byte(rule+program+":FO"), 0))
	t.Cleanup(func() {
		if err := os.WriteFile(binfmt+"/tare-test-arm64", []byte("-1"), 0); err != nil {
			t.Error(err)
		}
	})
}

// sh runs a program that has to succeed, and returns what it prints.
func sh(t *testing.T, argv ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s%s", argv, err, out, errs.Bytes())
	}
	return string(out)
}

// names of the files in a tar.
func names(t *testing.T, archive []byte) (list []string) {
	t.Helper()
	for in := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := in.Next()
		if err != nil {
			return list
		}
		if header.Typeflag == tar.TypeReg {
			list = append(list, strings.TrimPrefix(header.Name, "."))
		}
	}
}
