package environment

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
)

// Mount is a directory or a file of this machine that an instance has too.
type Mount struct {
	From     string `json:"from,omitempty"` // absolute
	To       string `json:"to"`             // inside, absolute
	ReadOnly bool   `json:"read_only,omitempty"`
	// Memory is a new directory in memory of at most Size, 0 for no limit, in place of
	// From; only for kinds with Memory.
	Memory bool           `json:"memory,omitempty"`
	Size   quantity.Bytes `json:"size,omitempty"`
}

// String is the mount as people write it.
func (m Mount) String() string {
	text := m.From + ":" + m.To
	if m.ReadOnly {
		text += ":ro"
	}
	return text
}

// ParseMount reads HOST:INSIDE or HOST:INSIDE:ro. HOST is relative to the directory, and
// has to exist.
func ParseMount(text, directory string) (m Mount, err error) {
	rest, readOnly := strings.CutSuffix(text, ":ro")
	from, to, ok := strings.Cut(rest, ":")
	if !ok || from == "" || strings.Contains(to, ":") {
		return m, fmt.Errorf("%q is not HOST:INSIDE or HOST:INSIDE:ro, such as ./corpus:/corpus:ro; neither path can have a colon", text)
	}
	if m.From, err = hostPath(from, directory); err != nil {
		return m, err
	}
	info, err := os.Stat(m.From)
	switch {
	case err != nil:
		return m, fmt.Errorf("%s: %w", m.From, bounded.Cause(err))
	case !info.IsDir() && !info.Mode().IsRegular():
		return m, fmt.Errorf("%s: it is neither a directory nor a regular file", m.From)
	case m.From == "/":
		return m, errors.New("/ of this machine cannot be mounted: name the directory that the command needs")
	case strings.Contains(m.From, ":"):
		return m, fmt.Errorf("%s: the path has a colon, which separates the paths of a mount: choose another directory", m.From)
	}
	m.To, m.ReadOnly = to, readOnly
	if to == "/data" || strings.HasPrefix(to, "/data/") {
		return m, fmt.Errorf("%s: /data is the instance's own directory: choose another path inside, such as /work", to)
	}
	return m, CheckInside(to)
}

// hostPath is an absolute path of this machine, without links.
func hostPath(name, directory string) (string, error) {
	name, err := filepath.Abs(strictyaml.In(directory, name))
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, bounded.Cause(err))
	}
	return real, nil
}

// taken are directories inside to which nothing can be added: those of the kernel, and
// those of programs, which some environments have read-only.
var taken = []string{"proc", "sys", "dev", ".tare", "tare-agent", "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "boot",
	"var/lib/dpkg", "var/lib/apt", "var/cache/apt"}

// CheckInside refuses paths inside of an instance at which tare can put nothing.
func CheckInside(to string) error {
	if !path.IsAbs(to) || path.Clean(to) != to || to == "/" {
		return fmt.Errorf("%q is not the path of something inside: write it from / on and without . or .., such as /work", to)
	}
	if i := slices.IndexFunc(taken, func(t string) bool { return to == "/"+t || strings.HasPrefix(to, "/"+t+"/") }); i >= 0 {
		return fmt.Errorf("%s: nothing can be added to /%s, which is the kernel's or the image's and not writable everywhere: choose another path inside, such as /work", to, taken[i])
	}
	return nil
}

// ErrNoMounts says why most kinds have none.
var ErrNoMounts = errors.New("its instances have disks of their own, with which tare shares no directory of this machine; leave the environment out, bring single files as inputs, or use an image that has the files")

// CheckMounts returns why instances of a kind with these options cannot have mounts.
func CheckMounts(kind string, options any) error {
	c := CapabilitiesOf(kind, options)
	switch {
	case c.Mounts:
		return nil
	case c.WhyNoMounts != "":
		return errors.New(c.WhyNoMounts)
	}
	return ErrNoMounts
}

// CheckMemoryMounts returns why instances of a kind with these options cannot have
// directories in memory.
func CheckMemoryMounts(kind string, options any) error {
	c := CapabilitiesOf(kind, options)
	switch {
	case c.MemoryMounts:
		return nil
	case c.WhyNoMemoryMounts != "":
		return errors.New(c.WhyNoMemoryMounts)
	}
	return fmt.Errorf("kind %s has no directories in memory: leave out tmpfs, or the environment", kind)
}
