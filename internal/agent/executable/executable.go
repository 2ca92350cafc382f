// Package executable writes the agent's executable to a directory for the environments.
// It must not know what the agent does.
package executable

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// embedded has the executable, where package program is linked in.
var embedded fs.FS

// Register gives this package files with the executable.
func Register(files fs.FS) { embedded = files }

// Write writes the agent's executable to the directory, once per version, and
// returns its path.
func Write(directory string) (path string, err error) {
	if own, err := own(); err == nil && own.in(directory) {
		return filepath.Join(directory, own.name), nil
	}
	return write(embedded, beside(), directory)
}

// own is the file of this program's agent: its contents are some megabytes, which no start
// of an instance has to read.
var own = sync.OnceValues(func() (file, error) {
	binary, err := Contents()
	return fileOf(binary), err
})

// file is what the agent's executable is in a directory.
type file struct {
	name string
	size int64
}

func fileOf(binary []byte) file {
	sum := sha256.Sum256(binary)
	return file{name + "-" + hex.EncodeToString(sum[:6]), int64(len(binary))}
}

// in reports whether a directory has the whole file.
func (f file) in(directory string) bool {
	info, err := os.Stat(filepath.Join(directory, f.name))
	return err == nil && info.Size() == f.size && info.Mode().Perm() == 0o755
}

// Contents is the agent's executable: the embedded one, or, where `go install` built tare
// without it, the one that it put beside tare.
func Contents() ([]byte, error) { return contents(embedded, beside()) }

const name = "tare-agent"

func contents(from fs.FS, beside string) ([]byte, error) {
	if from != nil {
		if binary, err := fs.ReadFile(from, name); !errors.Is(err, fs.ErrNotExist) {
			return binary, err
		}
	}
	binary, err := os.ReadFile(filepath.Join(beside, name))
	if err != nil {
		return nil, fmt.Errorf("this tare was built without its agent, and there is none beside it: %w; build it with `make build`, or install both in its source: CGO_ENABLED=0 go install ./cmd/tare ./cmd/tare-agent", err)
	}
	return binary, nil
}

// beside is the directory of this program.
func beside() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	return filepath.Dir(self)
}

func write(from fs.FS, beside, directory string) (path string, err error) {
	binary, err := contents(from, beside)
	if err != nil {
		return "", err
	}
	f := fileOf(binary)
	path = filepath.Join(directory, f.name)
	if f.in(directory) {
		return path, nil
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return "", fmt.Errorf("writing the agent: %w", err)
	}
	// A child forked while the file is open for writing keeps it open until its
	// exec, and until then executing the file fails with ETXTBSY.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	// Written to a temporary file and renamed, since another tare may execute the
	// same file.
	aside, err := os.CreateTemp(directory, ".tare-agent-*")
	if err != nil {
		return "", fmt.Errorf("writing the agent: %w", err)
	}
	defer os.Remove(aside.Name())
	_, err = aside.Write(binary)
	err = errors.Join(err, aside.Chmod(0o755), aside.Close())
	if err == nil {
		err = os.Rename(aside.Name(), path)
	}
	if err != nil {
		return "", fmt.Errorf("writing the agent to %s: %w", path, err)
	}
	return path, nil
}
