package docker

import (
	"context"
	"fmt"
	"strings"
)

// Runtime is the program behind the name of a runtime of an engine, "" being its
// default one, and the arguments that the engine gives it. The kind is docker or
// podman.
func Runtime(ctx context.Context, kind, socket, name string) (program string, arguments []string, err error) {
	b := theDocker
	if kind == "podman" {
		b = thePodman
	}
	e, err := b.at(socket)
	if err != nil {
		return "", nil, err
	}
	defer e.api.Close()
	info, err := e.info(ctx)
	if err != nil {
		return "", nil, err
	}
	if name == "" {
		name = info.DefaultRuntime
	}
	found, known := info.Runtimes[name]
	if !known {
		return "", nil, fmt.Errorf("the %s at %s knows no runtime %q, only %s", b.name, socket, name, strings.Join(runtimes(info), ", "))
	}
	if found.Path == "" { // a shim of containerd, which finds the program by itself
		return name, found.Args, nil
	}
	return found.Path, found.Args, nil
}

// Settled is the engine that the options end at: docker or direct.
func (o GvisorOptions) Settled(ctx context.Context) string { return o.engine(ctx) }
