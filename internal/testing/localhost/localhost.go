// Package localhost lets tests use tare on another host without another machine: this
// one serves as the host, and the test program as tare there. Only tests import it.
package localhost

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"tare/internal/environment/remote"
	"tare/internal/host"
)

// ServeIfAsked runs the server of a session if the command line is that of tare's
// hidden command, and then does not return. A session copies the calling program to
// the host, so a test program calls this at the beginning of its TestMain.
func ServeIfAsked() {
	if len(os.Args) < 2 || os.Args[1] != remote.Command {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := remote.Program(ctx, os.Args[2:], os.Getenv("TARE_HOME"), "test"); err != nil {
		fmt.Fprintln(os.Stderr, "tare:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Host is this machine.
type Host struct{}

var _ host.Host = Host{}

// Name is what messages call it.
func (Host) Name() string { return "this machine" }

// Address is a loopback address.
func (Host) Address() string { return "127.0.0.1" }

// Run runs a command to its end.
func (Host) Run(ctx context.Context, argv ...string) ([]byte, error) {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	if err != nil {
		return out, fmt.Errorf("%q: %w", argv, err)
	}
	return out, nil
}

// Open starts a program, which ends when the stream is closed.
func (Host) Open(_ context.Context, stderr io.Writer, argv ...string) (io.ReadWriteCloser, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = stderr
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		return nil, err
	}
	return &stream{out, in, cmd}, nil
}

type stream struct {
	io.Reader
	io.WriteCloser
	cmd *exec.Cmd
}

func (s *stream) Close() error {
	_ = s.WriteCloser.Close()
	_, _ = io.Copy(io.Discard, s.Reader)
	return s.cmd.Wait()
}

// Put writes a file and makes the directories above it.
func (Host) Put(_ context.Context, path string, mode fs.FileMode, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	if err = errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return os.Rename(f.Name(), path)
}

// Close releases nothing.
func (Host) Close() error { return nil }
