// Package program holds the agent's own executable, which `make build` puts
// beside this file, and writes it to where an environment can take it from.
// It must not know what the agent does.
package program

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// The pattern also matches tare-agent.txt, so that this package compiles before
// the agent was built.
//
//go:embed tare-agent*
var files embed.FS

// Write puts the agent's executable below the folder, once for each version of
// it, and returns its path.
func Write(folder string) (path string, err error) {
	return write(files, folder)
}

func write(from fs.FS, folder string) (path string, err error) {
	binary, err := fs.ReadFile(from, "tare-agent")
	if errors.Is(err, fs.ErrNotExist) {
		return "", errors.New("this tare was built without its agent; build it with `make build`")
	}
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(binary)
	path = filepath.Join(folder, "tare-agent-"+hex.EncodeToString(sum[:6]))
	if info, err := os.Stat(path); err == nil && info.Size() == int64(len(binary)) && info.Mode().Perm() == 0o755 {
		return path, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", fmt.Errorf("writing the agent: %w", err)
	}
	// A child that is forked while the file is open for writing keeps it open
	// until its own exec, and until then nobody can run the file.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	// Written aside and renamed: another tare may be about to run the same file.
	aside, err := os.CreateTemp(folder, ".tare-agent-*")
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
