// Command tare measures what an isolation layer costs a real workload.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	_ "tare/internal/agent/program"
	_ "tare/internal/base/headroom"
	"tare/internal/cli"
	"tare/internal/linux/kvm"
	"tare/internal/linux/searchpath"

	// The environments register themselves.
	_ "tare/internal/environment/bubblewrap"
	_ "tare/internal/environment/cloudhypervisor"
	_ "tare/internal/environment/containerd"
	_ "tare/internal/environment/docker"
	_ "tare/internal/environment/firecracker"
	_ "tare/internal/environment/gvisor"
	_ "tare/internal/environment/kubernetes"
	_ "tare/internal/environment/machine"
	_ "tare/internal/environment/native"
	_ "tare/internal/environment/oci"
	_ "tare/internal/environment/qemu"
	_ "tare/internal/environment/virtualbox"
	_ "tare/internal/environment/vsphere"
)

// These are set by the Makefile: the version, the commit and the date of the commit.
var (
	version      = "development"
	commit, date string
)

func main() {
	kvm.ProbeMain()
	searchpath.Complete()
	// The first signal ends the run in order, and a later one ends tare at once. One
	// within a second is the same: timeout(1), for example, sends it to tare and then to
	// its group.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, func() { time.Sleep(time.Second); stop() })
	app := cli.NewApp(version)
	app.Build = cli.Build{Commit: commit, Date: date}
	app.DefaultSignals = func() { signal.Reset() }
	os.Exit(cli.Main(ctx, app))
}
