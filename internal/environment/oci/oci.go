// Package oci runs an image with an OCI runtime (runc, crun, gVisor's runsc, youki)
// on a bundle that it writes, without an engine. Each part of the isolation is an
// option, and the result is observed from inside.
//
// It must not know workloads, studies or statistics, nor the cost of a part.
package oci

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/image"
	"tare/internal/linux/capability"
)

func init() {
	environment.Register(environment.Registration{
		Kind:     "oci",
		About:    "an OCI runtime (runc, crun, runsc ...) on a bundle, without an engine",
		Options:  func() any { o := Default(); return &o },
		Requires: func(o any) []environment.Requirement { return Requirements(o.(*Options)) },
		New:      func(o any) (environment.Environment, error) { return New(*o.(*Options)) },
		Capabilities: func(o any) environment.Capabilities {
			return environment.Capabilities{MemoryMounts: true, Mounts: o.(*Options).Root != "bind",
				WhyNoMounts: "with root: bind the root is read-only, so it gets no mount points: choose another root"}
		},
		Parts: ladderParts,
		Needs: func(o any) (environment.Needs, error) { return o.(*Options).needs() },
	})
}

type environ struct {
	options Options
	runtime program
	manager Manager  // makes the containers in place of the runtime's command; nil for none
	held    []string // capabilities of this process
	agent   func(home string) (string, error)
	points  func(home string) (string, error)
}

// New makes an environment. The runtime has to be installed.
func New(o Options) (environment.Environment, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	path, err := exec.LookPath(o.Runtime)
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err != nil {
		return nil, fmt.Errorf("the OCI runtime: %w; %s", err, install(&o))
	}
	e, err := newEnviron(o, nil)
	if err != nil {
		return nil, err
	}
	e.runtime = program{path: path, options: &e.options}
	return e, nil
}

func newEnviron(o Options, m Manager) (*environ, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return nil, fmt.Errorf("reading the capabilities of this process: %w", err)
	}
	held, err := capability.Parse(field(string(status), "CapBnd"))
	if err != nil {
		return nil, fmt.Errorf("reading the capabilities of this process: %w", err)
	}
	return &environ{options: o, manager: m, held: held,
		agent:  cleanup.OncePerKey(func(home string) (string, error) { return agent.WriteBinary(filepath.Join(home, "agent")) }),
		points: cleanup.OncePerKey(makePoints)}, nil
}

// Label is empty: its results need no caution.
func (e *environ) Label() string { return "" }

// Versions names the runtime, or what the manager names.
func (e *environ) Versions(ctx context.Context) map[string]string {
	if e.manager != nil {
		return e.manager.Versions(ctx)
	}
	versions := map[string]string{filepath.Base(e.runtime.path): Version(ctx, e.runtime.path)}
	if proxy := proxies[e.options.Network]; proxy != "" {
		versions[proxy] = Version(ctx, proxy)
	}
	return versions
}

// Prepare unpacks the image, or hands it to the manager.
func (e *environ) Prepare(ctx context.Context, img *image.Image, progress func(string)) error {
	if e.manager != nil {
		return e.manager.Prepare(ctx, img, progress)
	}
	_, err := img.Directory(ctx)
	return err
}

// field is the value of a line "Name: value", as in /proc/PID/status.
func field(text, name string) string {
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(line, ":"); ok && key == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
