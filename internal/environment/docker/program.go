package docker

import (
	"context"
	"fmt"
	"strings"
)

// runtime is the program behind the name of a runtime of an engine, "" being its
// default one, and the arguments that the engine gives it.
func (b brand) runtime(ctx context.Context, socket, name string) (program string, arguments []string, err error) {
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
		return "", nil, fmt.Errorf("the %s at %s has no runtime %q, only %s", b.name, socket, name, strings.Join(runtimes(info), ", "))
	}
	if found.Path == "" { // a shim of containerd, which finds the program
		return name, found.Args, nil
	}
	return found.Path, found.Args, nil
}
