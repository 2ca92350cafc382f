package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"

	"tare/internal/linux/cgroup"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// ordinary is the ID of a user and a group without any right on this machine.
const ordinary = 64123

// ordinaryHome is a directory of the user's, with the program and files of testdata.
func ordinaryHome(t *testing.T, files ...string) string {
	t.Helper()
	needs.Root(t) // to become another user
	directory, err := os.MkdirTemp("/var/tmp", "tare-ordinary-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(directory) })
	files = append([]string{program}, files...)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err == nil {
			err = os.WriteFile(filepath.Join(directory, filepath.Base(file)), data, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(directory, ordinary, ordinary); err != nil {
		t.Fatal(err)
	}
	return directory
}

// asOrdinary is a command of the user's in the directory.
func asOrdinary(t *testing.T, uid int, directory string, argv ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir = directory
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + directory, "LANG=C.UTF-8"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	return cmd
}

// The word, as of rights: not that of a file system.
var root = regexp.MustCompile(`(?i).{0,40}\b(root|sudo)\b.{0,40}`)

func TestWhatReadsAndComputesNeedsNoRootAndSaysNothingOfIt(t *testing.T) {
	directory := ordinaryHome(t, "testdata/tiny.yaml", "testdata/study.yaml", "../../internal/cli/testdata/stats/plain.csv")
	if err := os.WriteFile(filepath.Join(directory, "value.txt"), []byte("value 100\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"--version", "--help", "version",
		"import --tool ./tiny.yaml --environment native --out one value.txt",
		"import --tool ./tiny.yaml --environment native value.txt", // into the home
		"stats plain.csv --baseline native",
		"report one", "report one --format md,text",
		"compare one one", "score one --profile karna-2021",
		"show one", "show one --verify", "show quick", "show redis", "run study.yaml --dry-run",
		"published", "published karna-2021 --claims",
		"ls", "ls runs", "ls studies", "ls workloads", "ls profiles", "ls images",
		"doctor", "doctor --json",
	} {
		cmd := asOrdinary(t, ordinary, directory, append([]string{"./tare"}, strings.Fields(line)...)...)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := cmd.Run()
		said := errs.String()
		if !strings.HasPrefix(line, "doctor") { // which tells what the environments need
			said += out.String()
		}
		said = strings.Join(strings.Fields(said), " ") // lines are wrapped
		if words := root.FindAllString(strings.ReplaceAll(said, "root file system", ""), -1); err != nil || len(words) > 0 {
			t.Errorf("tare %s: %v, %q\n%s", line, err, words, said)
		}
	}
}

// Engines of an ordinary user's, which scripts/with-rootless.sh starts: tare runs as
// that user too.
func TestAnOrdinaryUserMeasuresInRootlessEngines(t *testing.T) {
	for kind, variable := range map[string]string{"podman": "TARE_TEST_ROOTLESS_PODMAN", "docker": "TARE_TEST_ROOTLESS_DOCKER"} {
		t.Run(kind, func(t *testing.T) {
			needsInstances(t)
			socket := os.Getenv(variable)
			if socket == "" {
				t.Skipf("needs a rootless engine: $%s names no socket; scripts/with-rootless.sh starts one", variable)
			}
			info, err := os.Stat(strings.TrimPrefix(socket, "unix://"))
			if err != nil {
				t.Fatal(err)
			}
			measureAs(t, int(info.Sys().(*syscall.Stat_t).Uid), kind, socket)
		})
	}
}

func measureAs(t *testing.T, uid int, kind, socket string) {
	directory := ordinaryHome(t, "testdata/tiny.yaml")
	img, err := testenv.Image(t).OCI(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// An image from a recipe needs root; this one is from a reference.
	images, err := layout.Write(filepath.Join(directory, "image"), empty.Index)
	if err == nil {
		err = images.AppendImage(img)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, limits := range map[string]string{"free": "{}", "limited": "{cpus: 0.5}"} {
		study := fmt.Sprintf("study: as an ordinary user\nbaseline: here\nimage: {reference: \"oci:image\"}\nlimits: %s\n"+
			"environments:\n  here: {kind: %s, socket: %q, network: none}\nworkloads: [{use: ./tiny.yaml}]\ndesign: {blocks: 1}\n", limits, kind, socket)
		if err := os.WriteFile(filepath.Join(directory, name+".yaml"), []byte(study), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if output, err := exec.Command("chown", "-R", fmt.Sprint(uid), directory).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	tare := func(words ...string) (string, error) {
		output, err := asOrdinary(t, uid, directory, append([]string{"./tare", "--home", "home"}, words...)...).CombinedOutput()
		return string(output), err
	}
	if output, err := tare("run", "free.yaml", "--out", "free"); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if output, err := tare("show", "free"); err != nil || !strings.Contains(output, "1 trial") {
		t.Errorf("%v\n%s", err, output)
	}
	// A limit that the engine cannot set fails the trial, with the reason.
	output, err := tare("run", "limited.yaml", "--out", "limited")
	if cgroup.Mode() != "v2" && (err == nil || !strings.Contains(output, "cpus")) {
		t.Errorf("with a limit that is not in force: %v\n%s", err, output)
	}
	t.Log(output)
	if output, err := tare("clean"); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
}
