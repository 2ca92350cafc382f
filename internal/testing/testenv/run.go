package testenv

import (
	"bytes"
	"strings"
	"testing"

	"tare/internal/agent"
	"tare/internal/environment"
)

// Run runs a shell line in an instance, which must end well, and returns what
// it printed.
func Run(t testing.TB, i environment.Instance, line string) string {
	t.Helper()
	var said bytes.Buffer
	exit, err := i.Agent().Run(t.Context(), agent.Command{Argv: []string{"/bin/sh", "-c", line}, Stdout: &said, Stderr: &said})
	if err != nil || !exit.OK() {
		t.Fatalf("%s: %+v, %v: %s", line, exit, err, said.String())
	}
	return strings.TrimSpace(said.String())
}
