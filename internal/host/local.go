package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
)

// Local is this machine.
func Local() Host { return local{} }

type local struct{}

func (local) Name() string    { return "this machine" }
func (local) Address() string { return "127.0.0.1" }
func (local) Close() error    { return nil }

func (l local) Run(ctx context.Context, argv ...string) ([]byte, error) {
	var out bytes.Buffer
	errs := &Tail{}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, errs, exitTimeout
	err := cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	var ended *exec.ExitError
	if errors.As(err, &ended) {
		err = &ExitError{Status: ended.ExitCode()}
	}
	return out.Bytes(), explain(l, argv, err, errs)
}

func (l local) Open(_ context.Context, stderr io.Writer, argv ...string) (io.ReadWriteCloser, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.WaitDelay = exitTimeout
	p, err := open(cmd, stderr, func(error) {})
	if err != nil {
		return nil, explain(l, argv, err, nil)
	}
	return p, nil
}

func (l local) Put(_ context.Context, path string, mode fs.FileMode, content io.Reader) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("writing %s on %s: %w", path, l.Name(), err)
		}
	}()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, content)
	if err := errors.Join(err, f.Chmod(mode), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
