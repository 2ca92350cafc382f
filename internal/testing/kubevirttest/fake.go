// Package kubevirttest starts a real Kubernetes API server with the double of KubeVirt of
// package fakekubevirt, for tests. Only tests import it.
package kubevirttest

import (
	"os"
	"os/exec"
	"path/filepath"

	"tare/internal/testing/gobuild"
	"tare/internal/testing/sshguest"
	"tare/internal/testing/testenv"
)

const source = "tare/internal/testing/fakekubevirt"

// Cluster is an API server with the namespace tests, in which there is a halted
// VirtualMachine named template, with a claim for its disk. It contains this machine's
// test images.
type Cluster struct {
	// Kubeconfig is the file of a user with the Roles of role.yaml and role-kubevirt.yaml in deploy/kubernetes.
	Kubeconfig string
	Keys       sshguest.Keys
}

// ErrNone is in the error where the program of the API server was not built.
var ErrNone = exec.ErrNotFound

// Program is the one that scripts/install-cluster.sh builds, or of the PATH. Without a
// cluster make test leaves its tests to make test-kubernetes, though it may be built.
func Program() (string, error) {
	built := filepath.Join(gobuild.Root(), "build/cluster/bin/kubeall")
	if _, err := os.Stat(built); err == nil && os.Getenv("TARE_TEST_CLUSTER") != "" {
		return built, nil
	}
	return exec.LookPath("kubeall")
}

// Fake starts a cluster in a directory, unless one is running. It ends with the process
// that started it.
func Fake(folder string) (*Cluster, error) {
	keys, err := sshguest.NewKeys(filepath.Join(folder, "keys"))
	if err != nil {
		return nil, err
	}
	c := &Cluster{Kubeconfig: filepath.Join(folder, "kubeconfig"), Keys: keys}
	if _, err := os.Stat(c.Kubeconfig); err == nil {
		return c, nil
	}
	kubeall, err := Program()
	if err != nil {
		return nil, err
	}
	deploy := filepath.Join(gobuild.Root(), "deploy/kubernetes")
	_, err = testenv.Double(folder, source, kubeall, filepath.Join(deploy, "role.yaml"), filepath.Join(deploy, "role-kubevirt.yaml"))
	return c, err
}
