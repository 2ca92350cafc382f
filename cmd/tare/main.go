// Command tare measures what an isolation layer costs a real workload.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"tare/internal/cli"
	"tare/internal/linux/kvm"

	// The environments register themselves.
	_ "tare/internal/environment/bubblewrap"
	_ "tare/internal/environment/cloudhypervisor"
	_ "tare/internal/environment/docker"
	_ "tare/internal/environment/firecracker"
	_ "tare/internal/environment/gvisor"
	_ "tare/internal/environment/machine"
	_ "tare/internal/environment/native"
	_ "tare/internal/environment/oci"
	_ "tare/internal/environment/qemu"
	_ "tare/internal/environment/virtualbox"
	_ "tare/internal/environment/vsphere"
)

// version is set by the Makefile.
var version = "development"

func main() {
	kvm.ProbeMain()
	// The first signal stops the run cleanly; the second has its default action.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	context.AfterFunc(ctx, stop)
	app := cli.NewApp(version)
	app.DefaultSignals = stop
	os.Exit(cli.Main(ctx, app))
}
