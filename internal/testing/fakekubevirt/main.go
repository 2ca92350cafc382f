// Command fakekubevirt is a double of KubeVirt in a real Kubernetes API server, for
// tests: it starts etcd and an API server, declares KubeVirt's objects there, and does
// what KubeVirt's controllers and webhooks do with them. The guest of a
// VirtualMachineInstance is a fake one with a real sshd. It exits at the end of its stdin.
//
//	fakekubevirt DIRECTORY KUBEALL ROLE...
//
// KUBEALL is the program of the cluster's parts, ROLE are files with the Roles that the user
// of DIRECTORY/kubeconfig has. The directory contains the guests' keys. The program
// prints a line when everything is there.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"k8s.io/klog/v2"

	"tare/internal/testing/sshguest"
)

func main() {
	sshguest.RunIfAsked()
	runtime.LockOSThread() // guests are killed when the thread that boots them exits
	klog.LogToStderr(false)
	klog.SetOutput(io.Discard)
	if err := serve(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func serve(folder, kubeall string, roles []string) error {
	c, err := startControl(folder, kubeall)
	if err != nil {
		return err
	}
	defer c.stop()
	guests, err := sshguest.NewBridged("kubev", folder)
	if err != nil {
		return err
	}
	defer guests.Close()
	d, err := newDouble(c.config, guests)
	if err != nil {
		return err
	}
	webhooks, configuration := serveWebhooks()
	defer webhooks.Close()
	defer webhooks.CloseClientConnections()
	if err := c.install(configuration, roles); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	fmt.Println("ready")
	go func() {
		io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			d.step(ctx)
		case <-ctx.Done():
			return nil
		}
	}
}
