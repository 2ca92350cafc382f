package testenv

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/agent"
	"tare/internal/environment"
)

// Run runs a shell command in an instance and returns its output. The test fails if the
// command does.
func Run(t testing.TB, i environment.Instance, line string) string {
	t.Helper()
	var output bytes.Buffer
	exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"/bin/sh", "-c", line}, Stdout: &output, Stderr: &output})
	if err != nil || !exit.OK() {
		t.Fatalf("%s: %+v, %v: %s", line, exit, err, output.String())
	}
	return strings.TrimSpace(output.String())
}
