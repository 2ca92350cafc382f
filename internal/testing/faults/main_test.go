package faults

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"tare/internal/linux/kvm"
	"tare/internal/testing/gobuild"
	"tare/internal/testing/testenv"

	// The environments whose leftovers are looked for.
	_ "tare/internal/environment/containerd"
	_ "tare/internal/environment/docker"
	_ "tare/internal/environment/gvisor"
	_ "tare/internal/environment/native"
	_ "tare/internal/environment/oci"
	_ "tare/internal/environment/qemu"
)

func TestMain(m *testing.M) {
	kvm.ProbeMain()
	flag.Parse()
	if testing.Short() {
		goleak.VerifyTestMain(m, testenv.EngineConnections()...)
		return
	}
	goleak.VerifyTestMain(tests(func() int { return withProgram(m.Run) }), testenv.EngineConnections()...)
}

type tests func() int

func (t tests) Run() int { return t() }

func withProgram(run func() int) int {
	directory, err := os.MkdirTemp("", "tare-program-")
	if err == nil {
		defer os.RemoveAll(directory)
		program = filepath.Join(directory, "tare")
		err = gobuild.Build(program, "tare/cmd/tare")
	}
	status := 1
	if err == nil {
		status = run()
		err = writeTable()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return status
}
