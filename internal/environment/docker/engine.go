package docker

import (
	"context"
	"errors"
	"fmt"
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

// brand is what differs between the engines that speak Docker's API.
type brand struct {
	name  string        // in messages
	start string        // the command that starts it
	host  func() string // where it usually is
	// takesParent: it makes containers in the cgroup that it is told, and leaves
	// nothing else there.
	takesParent bool
}

var (
	theDocker = brand{"Docker daemon", "sudo systemctl start docker (without systemd: sudo dockerd &)", DockerHost, true}
	thePodman = brand{"Podman service", "sudo systemctl start podman.socket (without systemd: sudo podman system service --time=0 unix:///run/podman/podman.sock &)", PodmanHost, false}
)

// engine is a daemon behind a socket of this machine.
type engine struct {
	brand
	host string
	api  *client.Client
	info func(context.Context) (system.Info, error)
}

// oldest is the API version below which nothing here was tried.
const oldest = client.MinAPIVersion

func (b brand) at(host string) (*engine, error) {
	if err := validSocket(host); err != nil {
		return nil, err
	}
	api, err := client.New(client.WithHost(host))
	if err != nil {
		return nil, fmt.Errorf("%s at %s: %w", b.name, host, err)
	}
	e := &engine{brand: b, host: host, api: api}
	e.info = onceGood(func(ctx context.Context) (system.Info, error) {
		result, err := api.Info(ctx, client.InfoOptions{})
		return result.Info, e.explain("asking what it is", err)
	})
	return e, nil
}

// onceGood keeps the first answer that is no error.
func onceGood[T any](ask func(context.Context) (T, error)) func(context.Context) (T, error) {
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

// explain says what was tried on which engine; an engine that does not answer
// gets what mends that.
func (e *engine) explain(tried string, err error) error {
	switch {
	case err == nil:
		return nil
	case client.IsErrConnectionFailed(err):
		reason := e.unreachable(context.Background())
		if reason == nil {
			reason = err
		}
		return fmt.Errorf("%s, %s: %w; to mend it: %s", e.name, tried, reason, e.mend(reason))
	}
	return fmt.Errorf("%s at %s, %s: %w", e.name, e.host, tried, err)
}

// unreachable is why nobody answers at the socket, or nil when somebody does.
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
		return fmt.Errorf("nobody listens at %s", path)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("this user may not use %s: %w", path, syscall.EACCES)
	}
	return fmt.Errorf("connecting to %s: %w", path, err)
}

// mend is what to do about an engine that is unreachable.
func (e *engine) mend(err error) string {
	if errors.Is(err, syscall.EACCES) {
		return "be root (sudo), or in the group that owns the socket (sudo usermod -aG GROUP USER; then log in anew)"
	}
	return e.start
}

// runtimes lists the engine's OCI runtimes by name.
func runtimes(info system.Info) []string {
	names := []string{}
	for name := range info.Runtimes {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
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
