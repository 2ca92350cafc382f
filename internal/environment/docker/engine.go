package docker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"tare/internal/environment/oci"
)

// brand is what differs between the engines with Docker's API.
type brand struct {
	kind  string        // docker, podman
	name  string        // in messages
	start string        // the command that starts it
	host  func() string // where it usually is
	// takesParent: it creates containers in the cgroup of the request, and nothing else
	// there.
	takesParent bool
}

var (
	theDocker = brand{"docker", "Docker daemon", "sudo systemctl start docker (without systemd: sudo dockerd &)", DockerHost, true}
	thePodman = brand{"podman", "Podman service", "sudo systemctl start podman.socket (without systemd: sudo podman system service --time=0 unix:///run/podman/podman.sock &)", PodmanHost, false}
)

// engine is a daemon at a Unix socket of this machine.
type engine struct {
	brand
	host string
	api  *client.Client
	info func(context.Context) (system.Info, error)
}

// minAPIVersion is the oldest API version that is supported.
const minAPIVersion = client.MinAPIVersion

func (b brand) at(host string) (*engine, error) {
	if err := ValidSocket(host); err != nil {
		return nil, err
	}
	api, err := client.New(client.WithHost(host))
	if err != nil {
		return nil, fmt.Errorf("%s at %s: %w", b.name, host, err)
	}
	e := &engine{brand: b, host: host, api: api}
	e.info = onceSuccessful(func(ctx context.Context) (system.Info, error) {
		result, err := api.Info(ctx, client.InfoOptions{})
		return result.Info, e.explain("requesting its info", err)
	})
	return e, nil
}

// onceSuccessful keeps the first result without an error.
func onceSuccessful[T any](ask func(context.Context) (T, error)) func(context.Context) (T, error) {
	var mu sync.Mutex
	var good bool
	var answer T
	return func(ctx context.Context) (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if good {
			return answer, nil
		}
		got, err := ask(ctx)
		if err == nil {
			answer, good = got, true
		}
		return got, err
	}
}

// explain adds to an error what was tried on which engine, and how to fix an engine
// that does not answer.
func (e *engine) explain(tried string, err error) error {
	switch {
	case err == nil:
		return nil
	case client.IsErrConnectionFailed(err):
		reason := e.unreachable(context.Background())
		if reason == nil {
			reason = err
		}
		return fmt.Errorf("%s, %s: %w; to fix it: %s", e.name, tried, reason, e.fix(reason))
	}
	return fmt.Errorf("%s at %s, %s: %w", e.name, e.host, tried, err)
}

// unreachable returns why no engine accepts connections at the socket, or nil.
func (e *engine) unreachable(ctx context.Context) error {
	path := strings.TrimPrefix(e.host, "unix://")
	dialer := net.Dialer{Timeout: 5 * time.Second}
	conn, err := dialer.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		conn.Close()
		return nil
	case errors.Is(err, syscall.ENOENT):
		return fmt.Errorf("there is no socket %s", path)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no process listens at %s", path)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("no permission to use %s: %w", path, syscall.EACCES)
	}
	return fmt.Errorf("connecting to %s: %w", path, err)
}

// fix is how to fix an engine that is unreachable.
func (e *engine) fix(err error) string {
	if errors.Is(err, syscall.EACCES) {
		return "run as root (sudo), or add the user to the group of the socket (sudo usermod -aG GROUP USER; then log in again)"
	}
	return e.start
}

// runtimes lists the engine's OCI runtimes by name.
func runtimes(info system.Info) []string {
	return slices.Sorted(maps.Keys(info.Runtimes))
}

// versions names the daemon and the runtime, with their versions.
func (e *engine) versions(ctx context.Context, runtime string) map[string]string {
	list := map[string]string{}
	server, err := e.api.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return list
	}
	name := strings.ToLower(strings.Fields(e.name)[0])
	list[name] = server.Version
	for _, c := range server.Components {
		switch known := strings.ToLower(c.Name); known {
		case "containerd", "runc", "crun", "conmon":
			list[known] = c.Version
		}
	}
	info, err := e.info(ctx)
	if err != nil {
		return list
	}
	if runtime == "" {
		runtime = info.DefaultRuntime
	}
	if program := info.Runtimes[runtime].Path; program != "" {
		if version := oci.Version(ctx, program); version != "" {
			list[runtime] = version
		}
	}
	if runtime != "runc" {
		delete(list, "runc") // it takes no part
	}
	return list
}

func notFound(err error) bool { return errdefs.IsNotFound(err) }
