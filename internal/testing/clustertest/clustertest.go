// Package clustertest uses the cluster that scripts/with-cluster.sh starts: a namespace
// with the Role of deploy/kubernetes, images on its nodes, and kubectl for faults.
package clustertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/testing/gobuild"
)

// Variable names the folder of the cluster; it is set while there is one.
const Variable = "TARE_TEST_CLUSTER"

// Namespace of the tests, as in the files below deploy.
const Namespace = "tare"

// Kubectl runs kubectl as the administrator, and returns its output.
func Kubectl(ctx context.Context, input string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, "kubectl", arguments...)
	command.Stdin = strings.NewReader(input)
	command.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(os.Getenv(Variable), "admin.kubeconfig"))
	output, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl %q: %w: %s", arguments, err, output)
	}
	return strings.TrimSpace(string(output)), nil
}

// Manifest is a file below deploy/kubernetes.
func Manifest(name string) string {
	return filepath.Join(gobuild.Root(), "deploy", "kubernetes", name)
}

// Account returns a kubeconfig, in a directory, of a service account that has only what
// the manifests below deploy/kubernetes grant.
func Account(ctx context.Context, directory string) (file string, err error) {
	file = filepath.Join(directory, "account.kubeconfig")
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return file, err
	}
	if _, err := Kubectl(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+Namespace+"}\n", "apply", "-f", "-"); err != nil {
		return "", err
	}
	for _, manifest := range []string{"role.yaml", "nodes.yaml"} {
		if _, err := Kubectl(ctx, "", "apply", "-n", Namespace, "-f", Manifest(manifest)); err != nil {
			return "", err
		}
	}
	token, err := Kubectl(ctx, "", "create", "token", "-n", Namespace, "tare", "--duration=24h")
	if err != nil {
		return "", err
	}
	cluster, err := Kubectl(ctx, "", "config", "view", "--raw", "--minify", "-o", "jsonpath={.clusters[0].cluster.server} {.clusters[0].cluster.certificate-authority-data}")
	if err != nil {
		return "", err
	}
	server, authority, _ := strings.Cut(cluster, " ")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: tare, user: {token: %s}}]
contexts: [{name: test, context: {cluster: test, user: tare, namespace: %s}}]
current-context: test
`, server, authority, token, Namespace)
	if err := os.MkdirAll(directory, 0o700); err != nil {
		return "", err
	}
	return file, os.WriteFile(file, []byte(text), 0o600)
}

// Left are the objects in the cluster of owners whose ids begin so.
func Left(ids string) (list []string) {
	const line = `{range .items[*]}{.metadata.labels.tare\.owner} {.kind} {.metadata.namespace}/{.metadata.name}{"\n"}{end}`
	output, err := Kubectl(context.Background(), "", "get", "pods,services,leases,pvc", "-A", "-l", cleanup.Label, "-o", "jsonpath="+line)
	if err != nil {
		return []string{err.Error()}
	}
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, ids) {
			list = append(list, strings.TrimSpace(line))
		}
	}
	return list
}

// Load gives an image to all nodes.
func Load(ctx context.Context, img *image.Image) error {
	loaded := filepath.Join(os.Getenv(Variable), "loaded-"+strings.TrimPrefix(img.Digest, "sha256:"))
	if _, err := os.Stat(loaded); err == nil {
		return nil
	}
	archive, err := os.CreateTemp("", "tare-image-*.tar")
	if err != nil {
		return err
	}
	defer os.Remove(archive.Name())
	if err := errors.Join(image.WriteArchive(ctx, archive, img), archive.Close()); err != nil {
		return err
	}
	if err := Import(ctx, archive.Name()); err != nil {
		return err
	}
	return os.WriteFile(loaded, nil, 0o600)
}

// Import gives the images of an archive to all nodes.
func Import(ctx context.Context, archive string) error {
	if output, err := exec.CommandContext(ctx, filepath.Join(os.Getenv(Variable), "import"), archive).CombinedOutput(); err != nil {
		return fmt.Errorf("giving %s to the nodes: %w: %s", archive, err, output)
	}
	return nil
}
