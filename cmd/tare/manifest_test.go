package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/testing/needs"
)

// The example's store, job and replica, with an image of Debian's Redis in place of the one
// of a registry.
func TestTheExampleInPodsRunsInDockerAndGVisor(t *testing.T) {
	needs.Minutes(t, "makes an image of a server and its load driver")
	needsInstances(t)
	needsKind(t, "docker")
	needsKind(t, "gvisor")
	archive, directory := redisImage(t), t.TempDir()
	copyExample(t, directory, archive, "pods.yaml")
	runsWithoutItsSecret(t, directory, "the-password-of-the-store")
}

// copyExample copies a study of examples/pods and its manifests, with another image.
func copyExample(t *testing.T, directory, archive, study string) {
	t.Helper()
	if err := os.Mkdir(filepath.Join(directory, "manifests"), 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{study: "study.yaml", "manifests/shop.yaml": "manifests/shop.yaml"} {
		text, err := os.ReadFile(filepath.Join("../../examples/pods", from))
		if err != nil {
			t.Fatal(err)
		}
		text = []byte(strings.ReplaceAll(string(text), "image: redis:7", "image: tar:"+archive))
		if err := os.WriteFile(filepath.Join(directory, to), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
