package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/rundir"
	"tare/internal/testing/clustertest"
	"tare/internal/testing/gobuild"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

func kubectl(t *testing.T, input string, arguments ...string) string {
	t.Helper()
	output, err := clustertest.Kubectl(context.Background(), input, arguments...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// inTime waits for something that the cluster does.
func inTime(t *testing.T, what string, reached func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !reached(); {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s\n%s", what, kubectl(t, "", "get", "all,pvc,events", "-n", clustertest.Namespace))
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// tareOnTheNodes makes the image with tare, as `make image` does, and gives it to all nodes.
func tareOnTheNodes(t *testing.T) {
	t.Helper()
	directory := t.TempDir()
	maker, archive := filepath.Join(directory, "maker"), filepath.Join(directory, "tare.tar")
	if err := gobuild.Build(maker, "../../deploy/image"); err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{
		{maker, "-tare", program, "-out", archive, "-images", testenv.Images()},
		{filepath.Join(os.Getenv(clustertest.Variable), "import"), archive},
	} {
		if output, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", command, err, output)
		}
	}
}

// theCoordinator is the process of a tare in a pod; 0 where there is none.
func theCoordinator() int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		if line, _ := os.ReadFile(file); bytes.Contains(line, []byte("tare\x00run\x00/study/study.yaml\x00")) {
			pid, _ := strconv.Atoi(strings.Split(file, "/")[2])
			return pid
		}
	}
	return 0
}

// The manifests are applied as they are. The coordinator is a pod without any capability,
// with what the Role grants.
func TestARunAsAJobOfKubernetesGoesOnInASecondPod(t *testing.T) {
	needs.Cluster(t)
	needs.LongForm(t, "makes an image with tare, and runs it twice")
	h := aHome(t)
	if _, err := clustertest.Account(t.Context(), t.TempDir()); err != nil { // the namespace, and who may do what there
		t.Fatal(err)
	}
	img := testenv.Image(t)
	tareOnTheNodes(t)
	in := []string{"-n", clustertest.Namespace}
	with := func(arguments ...string) []string { return append(arguments, in...) }
	t.Cleanup(func() {
		kubectl(t, "", with("delete", "--ignore-not-found", "-f", clustertest.Manifest("job.yaml"))...)
		kubectl(t, "", with("delete", "--ignore-not-found", "configmap", "tare-study")...)
	})
	manifest, err := os.ReadFile(clustertest.Manifest("job.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	// The claim is made before the Job, since the image of the study goes onto its volume.
	claim, _, _ := strings.Cut(string(manifest), "\n---\n")
	kubectl(t, claim, with("apply", "-f", "-")...)
	volume := ""
	inTime(t, "a volume for the claim", func() bool {
		name := kubectl(t, "", with("get", "pvc", "tare-home", "-o", "jsonpath={.spec.volumeName}")...)
		if name != "" {
			volume = kubectl(t, "", "get", "pv", name, "-o", "jsonpath={.spec.hostPath.path}")
		}
		return volume != ""
	})
	archive, err := os.Create(filepath.Join(volume, "image.tar"))
	if err != nil {
		t.Fatal(err)
	}
	if err := image.WriteArchive(t.Context(), archive, img); err != nil {
		t.Fatal(err)
	}
	archive.Close()
	if err := clustertest.Load(t.Context(), img); err != nil {
		t.Fatal(err)
	}
	kubectl(t, "", with("create", "configmap", "tare-study", "--from-file=testdata/job/study.yaml", "--from-file=testdata/job/asks.yaml")...)
	kubectl(t, "", with("apply", "-f", clustertest.Manifest("job.yaml"))...)

	directory := filepath.Join(volume, "run")
	journal := func() []byte {
		text, _ := os.ReadFile(filepath.Join(directory, "journal.jsonl"))
		return text
	}
	ended := func() bool {
		return kubectl(t, "", with("get", "job", "tare", "-o", `jsonpath={.status.conditions[?(@.status=="True")].type}`)...) != ""
	}
	inTime(t, "a block", func() bool { return bytes.Count(journal(), []byte("\n")) >= 2 || ended() })
	t.Logf("the pods while it runs, with their RuntimeClasses:\n%s", kubectl(t, "", with("get", "pods", "-o", `jsonpath={range .items[*]}{.metadata.name} {.spec.runtimeClassName} {.spec.nodeName}{"\n"}{end}`)...))
	if pid := theCoordinator(); pid == 0 || syscall.Kill(pid, syscall.SIGKILL) != nil {
		t.Fatalf("no coordinator to kill; it said: %s", kubectl(t, "", with("logs", "job/tare")...))
	}
	kept := journal()
	inTime(t, "the end of the Job", ended)

	pods := kubectl(t, "", with("get", "pods", "-l", "job-name=tare", "--sort-by=.metadata.creationTimestamp", "-o", `jsonpath={range .items[*]}{.metadata.name}:{.status.phase}:{.status.containerStatuses[0].state.terminated.exitCode} {end}`)...)
	var said strings.Builder
	for _, pod := range strings.Fields(pods) {
		name, _, _ := strings.Cut(pod, ":")
		fmt.Fprintf(&said, "--- %s\n%s\n", pod, kubectl(t, "", with("logs", name)...))
	}
	t.Log(said.String())
	if list := strings.Fields(pods); len(list) != 2 || !strings.HasSuffix(list[0], ":Failed:137") || !strings.HasSuffix(list[1], ":Succeeded:0") {
		t.Errorf("the pods of the Job: %s", pods)
	}
	run, err := rundir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(journal(), kept) || len(run.Manifest.Sessions) != 2 || len(run.Trials) != 8 {
		t.Errorf("%d sessions, %d trials; kept %d bytes of %d", len(run.Manifest.Sessions), len(run.Trials), len(kept), len(journal()))
	}
	for _, trial := range run.Trials {
		if trial.Status != rundir.OK {
			t.Errorf("block %d, %s: %s", trial.Block, trial.Environment, trial.Reason)
		}
		if trial.Usage == nil || trial.Usage.CPU().Missing != "" {
			t.Errorf("block %d, %s: its CPU time is missing: %+v", trial.Block, trial.Environment, trial.Usage)
		}
	}
	p := h.tare(t, "report", directory, "--format", "text")
	if status, output := p.end(); status != 0 || !strings.Contains(output, "gvisor") {
		t.Errorf("status %d: %s%s", status, output, p.errs.String())
	} else {
		t.Log(output)
	}
	if left := kubectl(t, "", with("get", "pods,services,leases", "-l", cleanup.Label, "-o", "name")...); left != "" {
		t.Errorf("left behind: %s", left)
	}
}

// asAccount has tare use the cluster as a service account with only the Role, and gives the
// small image to the nodes.
func asAccount(t *testing.T) home {
	t.Helper()
	needs.Cluster(t)
	h := aHome(t)
	account, err := clustertest.Account(t.Context(), t.TempDir())
	if err == nil {
		err = clustertest.Load(t.Context(), testenv.Image(t))
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("KUBECONFIG", account)
	return h
}

func TestALadderOfRuntimeClassesOfKubernetesEndsAtTheLastThatIsThere(t *testing.T) {
	needs.Cluster(t)
	needs.LongForm(t, "runs a ladder")
	h := asAccount(t)
	p := h.tare(t, "explain", "asks", "--study", "job/runtimes.yaml", "--from", "runc", "--via", "gvisor", "--via", "ptrace", "--to", "kata", "--traced", "0", "--quiet")
	status, output := p.end()
	t.Log(output, p.errs.String())
	text := strings.Join(strings.Fields(output), " ")
	for _, want := range []string{"+ RuntimeClass gvisor ", "+ RuntimeClass gvisor-p", "the ladder ends at ptrace, since kata does not work here: needs the RuntimeClass", "has no RuntimeClass kata"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q", want)
		}
	}
	if status != 0 {
		t.Errorf("status %d", status)
	}
}

func TestAHandlerThatNoNodeOfKubernetesHasFailsItsTrialsAlone(t *testing.T) {
	h := asAccount(t)
	kubectl(t, "apiVersion: node.k8s.io/v1\nkind: RuntimeClass\nmetadata: {name: kata}\nhandler: kata\n", "apply", "-f", "-")
	t.Cleanup(func() { kubectl(t, "", "delete", "runtimeclass", "kata") })
	directory := filepath.Join(t.TempDir(), "run")
	p := h.tare(t, "run", "job/runtimes.yaml", "--only", "runc,gvisor,kata", "--blocks", "2", "--quiet", "--out", directory)
	status, output := p.end()
	run, err := rundir.Open(directory)
	if err != nil || status != 3 {
		t.Fatalf("status %d: %v, %s%s", status, err, output, p.errs.String())
	}
	made := map[string]int{}
	for _, trial := range run.Trials {
		if made[trial.Environment]++; trial.Environment == "kata" {
			if !strings.Contains(trial.Reason, "has no handler for the RuntimeClass kata") {
				t.Errorf("the reason: %s", trial.Reason)
			}
			t.Log(trial.Reason)
		}
		if (trial.Status == rundir.OK) != (trial.Environment != "kata") {
			t.Errorf("block %d, %s: %s %s", trial.Block, trial.Environment, trial.Status, trial.Reason)
		}
	}
	if made["runc"] != 2 || made["gvisor"] != 2 || made["kata"] == 0 {
		t.Errorf("trials: %v", made)
	}
}
