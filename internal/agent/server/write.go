package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/internal/agent/wire"
)

func (s *server) writeFile(t *task, m wire.Write) (path string, err error) {
	mode := os.FileMode(m.Mode & 0o777)
	if m.Mode == 0 {
		mode = 0o644
	}
	owner := account{}
	if m.User != "" {
		if owner, err = lookup(m.User); err != nil {
			return "", fmt.Errorf("user %s: %w", m.User, err)
		}
	}
	if m.Directory {
		nothing := func([]byte) error { return nil }
		err = os.MkdirAll(m.Path, 0o755)
		if err == nil && m.Mode != 0 {
			err = os.Chmod(m.Path, mode)
		}
		return m.Path, errors.Join(err, s.receive(t, t.ctx.Done(), nothing))
	}
	if m.Memory {
		if err = s.inMemory(&m); err != nil {
			return "", err
		}
		if m.Mode == 0 {
			mode = 0o400
		}
	} else if err := os.MkdirAll(filepath.Dir(m.Path), 0o755); err != nil {
		return "", err
	}
	f, err := os.OpenFile(m.Path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode() != mode {
		// Exactly the requested mode, independent of the umask and of an old file. Files of
		// the kernel's, which take no other mode, have it.
		if err := f.Chmod(mode); err != nil {
			return "", err
		}
	}
	if m.User != "" {
		if err := f.Chown(int(owner.credential.Uid), int(owner.credential.Gid)); err != nil {
			return "", err
		}
	}
	if m.Link != "" {
		if err := link(m.Path, m.Link); err != nil {
			return "", err
		}
	}
	return m.Path, s.receive(t, t.ctx.Done(), func(b []byte) error {
		_, err := f.Write(b)
		return err
	})
}

// shared is the directory in memory that all environments have.
const shared = "/dev/shm"

// link makes a symbolic link to a file, in place of one that is there.
func link(file, at string) error {
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	if before, err := os.Lstat(at); err == nil && !before.IsDir() {
		if err := os.Remove(at); err != nil {
			return err
		}
	}
	return os.Symlink(file, at)
}

// inMemory makes the path of a file in memory from its name.
func (s *server) inMemory(m *wire.Write) (err error) {
	if filepath.Base(m.Path) != m.Path || m.Path == "." || m.Path == ".." {
		return fmt.Errorf("%q is not the name of a file", m.Path)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory == "" {
		if s.memory, err = makeMemory(); err != nil {
			return fmt.Errorf("a directory in memory: %w", err)
		}
	}
	m.Path = filepath.Join(s.memory, m.Path)
	return nil
}

func makeMemory() (directory string, err error) {
	var at unix.Statfs_t
	if err := unix.Statfs(shared, &at); err != nil {
		return "", fmt.Errorf("%s: %w", shared, err)
	}
	if at.Type != unix.TMPFS_MAGIC && at.Type != unix.RAMFS_MAGIC {
		return "", fmt.Errorf("%s is not in memory here (file system %#x)", shared, at.Type)
	}
	if directory, err = os.MkdirTemp(shared, "tare-"); err != nil {
		return "", err
	}
	// On the host's root, with a mount namespace of the agent's own, a mount ends with
	// the agent even if that is killed.
	own, first := os.Readlink("/proc/self/ns/mnt")
	init, second := os.Readlink("/proc/1/ns/mnt")
	if first == nil && second == nil && own != init {
		_ = unix.Mount("tmpfs", directory, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "mode=0711,size=16m")
	}
	return directory, os.Chmod(directory, 0o711)
}

// removeMemory removes the files in memory.
func (s *server) removeMemory() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.memory == "" {
		return nil
	}
	directory := s.memory
	s.memory = ""
	_ = unix.Unmount(directory, unix.MNT_DETACH)
	return os.RemoveAll(directory)
}
