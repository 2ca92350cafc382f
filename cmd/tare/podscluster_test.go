package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testing/clustertest"
	"tare/internal/testing/needs"
)

// The example's store, job and replica in pods, with nothing but the Role, and with an image
// of Debian's Redis in place of the one of a registry.
func TestTheExampleInPodsRunsInPodsOfKubernetes(t *testing.T) {
	needs.Cluster(t)
	account, err := clustertest.Account(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	archive, directory := redisImage(t), t.TempDir()
	copyExample(t, directory, archive, "cluster.yaml")
	study := filepath.Join(directory, "study.yaml")
	text, err := os.ReadFile(study)
	if err == nil {
		text = []byte(strings.ReplaceAll(string(text), "kind: kubernetes,", fmt.Sprintf("kind: kubernetes, kubeconfig: %q,", account)))
		err = os.WriteFile(study, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHome(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	images, out := filepath.Join(directory, "images.tar"), filepath.Join(directory, "run")
	p := h.tare(t, "save", study, images)
	if status, rest := p.end(); status != 0 {
		t.Fatalf("status %d\n%s\n%s", status, rest, p.errs.String())
	}
	if err := clustertest.Import(t.Context(), images); err != nil {
		t.Fatal(err)
	}
	p = h.tare(t, "run", study, "--blocks", "1", "--quiet", "--out", out)
	if status, rest := p.end(); status != 0 {
		t.Fatalf("status %d\n%s\n%s", status, rest, p.errs.String())
	}
	tookPart(t, out, "runc", "gvisor")
	hasNot(t, out, "the-password-of-the-store")
	left, err := clustertest.Kubectl(t.Context(), "", "get", "pods,services,leases,pvc", "-n", clustertest.Namespace, "-o", "name")
	if err != nil || left != "" {
		t.Errorf("left behind: %s, %v", left, err)
	}
}
