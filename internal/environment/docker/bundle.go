package docker

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"
)

// bundle is what runsc starts from: a folder of one instance.
type bundle struct {
	folder string
	image  string // the image's folder, which nothing may write to
	points string // what makePoints made
	agent  string // the agent's program
	env    []string
	data   string // bind or overlay
	// network is sandbox, host or none, and space the path of the network
	// namespace that a sandbox gets; "" is one of its own.
	network, space string
}

func (b bundle) in(name string) string { return filepath.Join(b.folder, name) }

// The capabilities that Docker gives, so that the two engines of gVisor differ
// in nothing else.
var capabilities = []string{
	"CAP_AUDIT_WRITE", "CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_MKNOD",
	"CAP_NET_BIND_SERVICE", "CAP_NET_RAW", "CAP_SETFCAP", "CAP_SETGID", "CAP_SETPCAP", "CAP_SETUID", "CAP_SYS_CHROOT",
}

// makePoints makes the mount points below a home, in a folder that an overlay
// puts above the image: runsc would make them in the image.
func makePoints(home string) (string, error) {
	folder := filepath.Join(home, "agent", "points")
	err := os.MkdirAll(filepath.Join(folder, "data"), 0o755)
	if err == nil {
		err = os.MkdirAll(filepath.Join(folder, filepath.Dir(agentInside)), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, agentInside), nil, 0o755)
	}
	if err != nil {
		return "", fmt.Errorf("making the mount points for runsc: %w", err)
	}
	return folder, nil
}

// write makes the bundle.
func (b bundle) write(name string) error {
	mounts := []specs.Mount{
		{Destination: "/proc", Type: "proc", Source: "proc"},
		{Destination: "/dev", Type: "tmpfs", Source: "tmpfs"},
		{Destination: "/dev/pts", Type: "devpts", Source: "devpts"},
		{Destination: "/dev/shm", Type: "tmpfs", Source: "shm"},
		{Destination: "/sys", Type: "sysfs", Source: "sysfs", Options: []string{"ro"}},
		{Destination: agentInside, Type: "bind", Source: b.agent, Options: []string{"bind", "ro"}},
	}
	if b.data == "bind" {
		mounts = append(mounts, specs.Mount{Destination: "/data", Type: "bind", Source: b.in("data"), Options: []string{"rbind", "rw"}})
	}
	namespaces := []specs.LinuxNamespace{{Type: specs.PIDNamespace}, {Type: specs.IPCNamespace}, {Type: specs.UTSNamespace}, {Type: specs.MountNamespace}}
	if b.network != "host" {
		namespaces = append(namespaces, specs.LinuxNamespace{Type: specs.NetworkNamespace, Path: b.space})
	}
	spec := specs.Spec{
		Version: specs.Version,
		Root:    &specs.Root{Path: b.points},
		Process: &specs.Process{
			Args: []string{agentInside, "stdio", "--open=/data"},
			Env:  append([]string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}, b.env...),
			Cwd:  "/",
			Capabilities: &specs.LinuxCapabilities{
				Bounding: capabilities, Effective: capabilities, Permitted: capabilities,
			},
		},
		Hostname: name,
		Mounts:   mounts,
		Linux:    &specs.Linux{Namespaces: namespaces},
	}
	text, err := json.Marshal(spec)
	if err == nil {
		err = os.WriteFile(b.in("config.json"), text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing a bundle for runsc in %s: %w", b.folder, err)
	}
	return makeData(b.in("data"))
}

// layers are the overlay's lower folders, escaped as the mount option wants it.
func (b bundle) layers() string {
	escape := strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`)
	return "lowerdir=" + escape.Replace(b.points) + ":" + escape.Replace(b.image)
}

// prelude puts the process into the cgroup, so that limits hold for all that
// runsc starts, makes the root over the mount points, and becomes runsc. It runs
// in a mount namespace of its own: what it and runsc mount vanishes with it.
const prelude = `
while [ "$1" != -- ]; do echo 0 >"$1" || exit 1; shift; done
mount -t overlay -o "ro,$2" tare "$3" || exit 1
shift 3
exec "$@"`
