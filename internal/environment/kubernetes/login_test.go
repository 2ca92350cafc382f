package kubernetes

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/environment"
)

// A kubeconfig may be anybody's, and can name a command that is run to log in.
func TestTheCommandOfAKubeconfigIsNamed(t *testing.T) {
	directory := t.TempDir()
	ran := filepath.Join(directory, "ran")
	script := filepath.Join(directory, "login")
	if err := os.WriteFile(script, fmt.Appendf(nil, "#!/bin/sh\necho x >>%s\nexit 1\n", ran), 0o755); err != nil {
		t.Fatal(err)
	}
	at := filepath.Join(directory, "config")
	if err := os.WriteFile(at, []byte(`{"apiVersion": "v1", "kind": "Config", "current-context": "c",
"clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
"contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
"users": [{"name": "u", "user": {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./login", "args": ["--as", "me"], "interactiveMode": "Never"}}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	finding := requirements(Options{Kubeconfig: at})[0].Check(t.Context())
	if _, err := os.Stat(ran); err != nil {
		t.Fatalf("the command did not run: %v", err)
	}
	if finding.State != environment.Missing || !strings.Contains(finding.Reason, "; to log in, the kubeconfig runs "+script) || strings.Contains(finding.Reason, "--as me") {
		t.Errorf("%+v", finding)
	}
}
