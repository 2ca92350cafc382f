package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"tare/internal/linux/cgroup"
	"tare/internal/testing/testenv"
)

// imageWithOwners is the small image with a file of user 33, a disk, and a link to it.
func imageWithOwners(t *testing.T, to string) {
	t.Helper()
	img, err := testenv.Image(t).OCI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	w := tar.NewWriter(&packed)
	for _, h := range []tar.Header{
		{Name: "opt/theirs/", Typeflag: tar.TypeDir, Mode: 0o700, Uid: 33, Gid: 33},
		{Name: "opt/theirs/file", Typeflag: tar.TypeReg, Mode: 0o600, Uid: 33, Gid: 33, Size: 6},
		{Name: "opt/disk", Typeflag: tar.TypeBlock, Mode: 0o666, Devmajor: 7},
		{Name: "opt/alias", Typeflag: tar.TypeLink, Linkname: "opt/disk"},
	} {
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Size > 0 {
			io.WriteString(w, "theirs")
		}
	}
	w.Close()
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil })
	var added v1.Image
	if err == nil {
		added, err = mutate.AppendLayers(img, layer)
	}
	var images layout.Path
	if err == nil {
		images, err = layout.Write(to, empty.Index)
	}
	if err == nil {
		err = images.AppendImage(added)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// An ordinary user with and without other IDs runs native in a subtree of the cgroups,
// and leaves nothing, also if tare is killed.
func TestAnOrdinaryUserMeasuresInNative(t *testing.T) {
	needsInstances(t)
	for name, user := range map[string]struct{ ranges, owner string }{
		"with other IDs": {"somebody:800000:65536\n", "33"},
		"alone":          {"", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			directory := ordinaryHome(t, "testdata/tiny.yaml", "testdata/inside.yaml")
			imageWithOwners(t, filepath.Join(directory, "image"))
			study := "study: as an ordinary user\nbaseline: native\nimage: {reference: \"oci:image\"}\nlimits: %s\n" +
				"environments:\n  native: {}\nworkloads: [{use: %s}]\ndesign: {order: interleaved, fresh: block, blocks: 1}\n"
			for file, text := range map[string]string{
				"free.yaml": fmt.Sprintf(study, "{pin: none}", "./inside.yaml, owner: "+user.owner),
				"pair.yaml": "study: two of them\nbaseline: native\nimage: {reference: \"oci:image\"}\nlimits: {pin: none}\n" +
					"environments:\n  native: {}\n  open: {kind: native, dev: host, proc: host, capabilities: all}\n" +
					"workloads: [{use: ./tiny.yaml}]\ndesign: {order: alternating, rounds: 3, blocks: 1}\n",
				"limited.yaml": fmt.Sprintf(study, "{pin: none, cpus: 0.5}", "./tiny.yaml"),
				"killed.yaml":  fmt.Sprintf(study, "{pin: none}", `./tiny.yaml, pause: ["0.01", "0.02", "0.03", "0.04"]`),
				"subids":       user.ranges,
				"passwd":       fmt.Sprintf("root:x:0:0::/:/bin/sh\nsomebody:x:%d:%d::/:/bin/sh\n", ordinary, ordinary),
			} {
				if err := os.WriteFile(filepath.Join(directory, file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if output, err := exec.Command("chown", "-R", fmt.Sprint(ordinary), directory).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, output)
			}
			group := testenv.Subtree(t, ordinary, "cpu", "memory", "pids")
			// In the group, and in a mount namespace in which nobody else has a name.
			command := func(words ...string) *exec.Cmd {
				const become = `set -e
					for f in /etc/subuid /etc/subgid; do mount --bind subids $f; done
					mount --bind passwd /etc/passwd
					user=$1; shift
					exec setpriv --reuid "$user" --regid "$user" --clear-groups ./tare --home home "$@"`
				cmd := asOrdinary(t, 0, directory, append([]string{"unshare", "--mount", "sh", "-c", become, "sh", fmt.Sprint(ordinary)}, words...)...)
				below, _ := group.Dir("")
				at, err := os.Open(below)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { at.Close() })
				cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(at.Fd())}
				return cmd
			}
			tare := func(words ...string) (string, error) {
				output, err := command(words...).CombinedOutput()
				return string(output), err
			}
			output, err := tare("run", "free.yaml", "--out", "free")
			if err != nil || !strings.Contains(output, "user namespace") {
				t.Fatalf("%v\n%s", err, output)
			}
			t.Log(output)
			if output, err := tare("run", "pair.yaml", "--out", "pair"); err != nil || !strings.Contains(output, "2 trials") {
				t.Errorf("alternating: %v\n%s", err, output)
			}
			output, err = tare("run", "limited.yaml", "--out", "limited")
			if limited := cgroup.Mode() == "v2"; limited != (err == nil) || !limited && !strings.Contains(output, "cpus: 0.5 CPUs requested, but") {
				t.Errorf("with a limit: %v\n%s", err, output)
			}
			if output, err := tare("doctor"); err != nil || !strings.Contains(strings.Join(strings.Fields(output), " "), "ok: a delegated cgroup subtree: cgroup "+cgroup.Mode()) {
				t.Errorf("%v\n%s", err, output)
			} else {
				_, ours, _ := strings.Cut(output, "\nnative ")
				t.Log(ours[:min(len(ours), 3000)])
			}
			killAfterATrial(t, command("run", "killed.yaml", "--json", "--out", "killed"))
			if output, err := tare("clean"); err != nil || !strings.Contains(output, "directory ") {
				t.Errorf("after a kill: %v\n%s", err, output)
			}
			if output, err := tare("clean"); err != nil || output != "nothing was left behind\n" {
				t.Errorf("%v\n%s", err, output)
			}
			if left, _ := filepath.Glob(filepath.Join(directory, "home/work/[a-z]*")); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
			images, err := tare("ls", "images")
			if err != nil {
				t.Fatalf("%v: %s", err, images)
			}
			if output, err := tare("rm", regexp.MustCompile(`sha256:[0-9a-f]{12,}`).FindString(images)); err != nil {
				t.Errorf("%v\n%s%s", err, images, output)
			}
			if left, _ := filepath.Glob(filepath.Join(directory, "home/images/images/*")); len(left) > 0 {
				t.Errorf("left: %q", left)
			}
		})
	}
}

// killAfterATrial kills a run whose instance is there.
func killAfterATrial(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	tried := false
	for !tried && lines.Scan() {
		tried = strings.Contains(lines.Text(), `"event":"tried"`)
	}
	if err := cmd.Process.Kill(); err != nil || !tried {
		t.Errorf("it ended before it was killed: %v", err)
	}
	_ = cmd.Wait()
}
