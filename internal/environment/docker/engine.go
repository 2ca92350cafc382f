package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"tare/internal/base/bounded"
	"tare/internal/environment"
	"tare/internal/environment/oci"
	"tare/internal/image/origin"
	"tare/internal/linux/permission"
)

// brand is what differs between the engines with Docker's API.
type brand struct {
	kind  string // docker, podman
	name  string // in messages
	start environment.Fix
	host  func() string // where it usually is
	// takesParent: it creates containers in the cgroup of the request, and nothing else
	// there.
	takesParent bool
	program     string // that start needs, and the package that it is in; "" if unknown
	packaged    string
	// own is the command with which a user, in a session that has this directory, starts an
	// own one instead of the one at host; nil or none where there is none.
	own func(host string, uid int, session string) environment.Fix
}

var (
	theDocker = brand{kind: "docker", name: "Docker daemon", start: environment.Fix{Code: environment.FixStart, Command: "systemctl start docker", Alternative: "dockerd &"},
		host: DockerHost, takesParent: true, program: "dockerd", packaged: "docker.io"}
	thePodman = brand{kind: "podman", name: "Podman service",
		start: environment.Fix{Code: environment.FixStart, Command: "systemctl start podman.socket",
			Alternative: "sh -c 'mkdir -p /run/podman && exec podman system service --time=0 unix:///run/podman/podman.sock' &"},
		host: PodmanHost, program: "podman", packaged: "podman", own: startOwnPodman}
)

// engine is a daemon at a Unix socket of this machine.
type engine struct {
	brand
	host    string
	api     *client.Client
	replies *replies
}

// replies are what an engine says of itself. Each is requested once: Podman runs dpkg-query for
// every one.
type replies struct {
	info    func(context.Context, *engine) (system.Info, error)
	version func(context.Context, *engine) (client.ServerVersionResult, error)
}

func newReplies() *replies {
	return &replies{
		info: onceSuccessful(func(ctx context.Context, e *engine) (system.Info, error) {
			result, err := e.api.Info(ctx, client.InfoOptions{})
			return result.Info, e.explain("requesting its info", err)
		}),
		version: onceSuccessful(func(ctx context.Context, e *engine) (client.ServerVersionResult, error) {
			return e.api.ServerVersion(ctx, client.ServerVersionOptions{})
		}),
	}
}

// repliesOf has those of each socket, for all environments of this process, since its last check.
var repliesOf sync.Map

// minAPIVersion is the oldest API version that is supported.
const minAPIVersion = client.MinAPIVersion

func (b brand) at(host string) (*engine, error) {
	if err := ValidSocket(host); err != nil {
		return nil, err
	}
	api, err := b.client(host, requestTimeout)
	if err != nil {
		return nil, err
	}
	known, _ := repliesOf.LoadOrStore(host, newReplies())
	return &engine{brand: b, host: host, api: api, replies: known.(*replies)}, nil
}

func (e *engine) info(ctx context.Context) (system.Info, error) { return e.replies.info(ctx, e) }

// client is one of the engine's API that gives each request a time; 0 is for those that
// transfer an image.
func (b brand) client(host string, timeout time.Duration) (*client.Client, error) {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, "unix", strings.TrimPrefix(host, "unix://"))
		if hear, listens := ctx.Value(dialed{}).(func(net.Conn)); listens && err == nil {
			hear(conn)
		}
		return conn, err
	}
	api, err := client.New(client.WithHost(host), client.WithDialContext(dial), client.WithTimeout(timeout), client.WithResponseHook(bounded.Body))
	if err != nil {
		return nil, fmt.Errorf("%s at %s: %w", b.name, host, err)
	}
	return api, nil
}

// dialed is the key of a function in a context that gets the connection.
type dialed struct{}

// attach attaches to a container that was created. Once it is connected, the client
// neither looks at the context nor has a time limit.
func (e *engine) attach(ctx context.Context, id string) (client.HijackedResponse, error) {
	bound, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	release := func() bool { return true }
	attached, err := e.api.ContainerAttach(context.WithValue(bound, dialed{}, func(conn net.Conn) {
		release = context.AfterFunc(bound, func() { conn.Close() })
	}), id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true, Stderr: true})
	if !release() {
		err = context.Cause(bound)
	}
	return attached.HijackedResponse, e.explain("attaching to the container", err)
}

// onceSuccessful keeps the first result without an error.
func onceSuccessful[T any](ask func(context.Context, *engine) (T, error)) func(context.Context, *engine) (T, error) {
	var mu sync.Mutex
	var good bool
	var answer T
	return func(ctx context.Context, e *engine) (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if good {
			return answer, nil
		}
		got, err := ask(ctx, e)
		if err == nil {
			answer, good = got, true
		}
		return got, err
	}
}

// requestTimeout is a variable for the tests.
var requestTimeout = origin.EngineTimeout

// errSilent is the error of an engine that hangs.
var errSilent = errors.New("it accepted the request and did not answer in time")

// silence is errSilent, and still the expired deadline, which can be the caller's.
type silence struct{ deadline error }

func (silence) Error() string     { return errSilent.Error() }
func (s silence) Unwrap() []error { return []error{errSilent, s.deadline} }

// explain adds to an error what was tried on which engine, and how to fix an engine
// that does not answer.
func (e *engine) explain(tried string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s at %s, %s: %w; to fix it: %s", e.name, e.host, tried, silence{err}, e.fix(errSilent))
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

// fix is how to fix an engine that is unreachable, or hangs.
func (e *engine) fix(err error) environment.Fix {
	return e.fixFor(err, os.Geteuid(), os.Getenv("XDG_RUNTIME_DIR"))
}

// fixFor is fix for a user, in a session that has this directory.
func (e *engine) fixFor(err error, uid int, session string) environment.Fix {
	var own environment.Fix
	if e.own != nil {
		own = e.own(e.host, uid, session)
	}
	switch {
	case errors.Is(err, errSilent):
		return environment.Advice("look at its log, and restart it")
	case !own.IsZero():
		return own
	case errors.Is(err, syscall.EACCES):
		return environment.AsRoot(permission.Fix(strings.TrimPrefix(e.host, "unix://")))
	case e.program != "" && e.host == e.brand.host() && !installed(e.program):
		return environment.Fix{Code: environment.FixInstall, Packages: []string{e.packaged}, Service: true}
	}
	return e.start
}

// installed looks for a program also where the PATH of an ordinary user does not.
func installed(program string) bool {
	return slices.ContainsFunc([]string{"", "/usr/sbin/", "/usr/local/sbin/"}, func(in string) bool {
		_, err := exec.LookPath(in + program)
		return err == nil
	})
}

// runtimes lists the engine's OCI runtimes by name.
func runtimes(info system.Info) []string {
	return slices.Sorted(maps.Keys(info.Runtimes))
}

// versions names the daemon and the runtime, with their versions.
func (e *engine) versions(ctx context.Context, runtime string) map[string]string {
	list := map[string]string{}
	server, err := e.replies.version(ctx, e)
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
	runtime = cmp.Or(runtime, info.DefaultRuntime)
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
