package image

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"tare/internal/linux/userns"
)

// packageOf has the Debian package of each program that is called here, for the
// message if it is missing.
var packageOf = map[string]string{
	"mmdebstrap": "mmdebstrap",
	"mke2fs":     "e2fsprogs",
	"apt-get":    "apt",
	"apt-cache":  "apt",
	"apt-config": "apt",
	"dpkg":       "dpkg",
	"dpkg-deb":   "dpkg",
	"tar":        "tar",
	"unshare":    "util-linux",
	"mvn":        "maven",
	"go":         "golang-go",
}

// tool is one call of a program.
type tool struct {
	argv []string
	env  []string // added to the process's own
	dir  string
	// mapped runs it as root of a user namespace; nil does not.
	mapped *userns.IDs
	// hear is called with every line of both outputs; nil is not called.
	hear func(line string)
}

// toolError is the error of a program that exited with a non-zero status.
type toolError struct {
	argv   []string
	cause  error
	output string // of both streams, the end of it
}

func (e *toolError) Error() string {
	text := strings.TrimSpace(e.output)
	if text == "" {
		text = "it printed nothing"
	}
	return fmt.Sprintf("%s: %v:\n%s", strings.Join(e.argv, " "), e.cause, indent(lastLines(text, 20)))
}

func (e *toolError) Unwrap() error { return e.cause }

// run calls the program and returns its standard output. If the context ends,
// its process group gets SIGTERM, so that it can clean up, and later SIGKILL.
func (t tool) run(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, t.argv[0], t.argv[1:]...)
	cmd.Dir = t.dir
	cmd.Env = append(append(os.Environ(), "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"), t.env...)
	// The kernel sends the parent-death signal when the thread that forked
	// exits, so this goroutine keeps its thread; then even kill -9 leaves no
	// orphan.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second

	var mu sync.Mutex
	var stdout, both strings.Builder
	out := &lineWriter{mu: &mu, hear: t.hear, keep: []*strings.Builder{&stdout, &both}}
	errs := &lineWriter{mu: &mu, hear: t.hear, keep: []*strings.Builder{&both}}
	cmd.Stdout, cmd.Stderr = out, errs
	err := t.start(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	out.flush()
	errs.flush()
	if cmd.Process != nil && ctx.Err() != nil {
		// Whatever of the group ignored SIGTERM.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	switch {
	case err == nil:
		return stdout.String(), nil
	case errors.Is(err, exec.ErrNotFound):
		return "", notInstalled(t.argv[0])
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s was canceled: %w", t.argv[0], ctx.Err())
	}
	return stdout.String(), &toolError{argv: t.argv, cause: err, output: both.String()}
}

func (t tool) start(cmd *exec.Cmd) error {
	if t.mapped != nil {
		return userns.Start(cmd, *t.mapped)
	}
	return cmd.Start()
}

func notInstalled(program string) error {
	return fmt.Errorf("%s is not installed: apt-get install %s", program, packageOf[program])
}

// lineWriter keeps what is written and passes it on line by line.
type lineWriter struct {
	mu      *sync.Mutex // shared by a program's two streams
	hear    func(string)
	keep    []*strings.Builder
	partial []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, k := range w.keep {
		k.Write(p)
	}
	w.partial = append(w.partial, p...)
	for {
		line, rest, whole := bytes.Cut(w.partial, []byte("\n"))
		if !whole {
			return len(p), nil
		}
		if w.hear != nil {
			w.hear(strings.TrimRight(string(line), "\r"))
		}
		w.partial = rest
	}
}

func (w *lineWriter) flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.partial) > 0 && w.hear != nil {
		w.hear(string(w.partial))
	}
	w.partial = nil
}

// explain adds to file system errors what to do, if a user can fix them.
func explain(err error) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: free some space there, or remove images (tare ls images, tare rm)", err)
	case errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0:
		return fmt.Errorf("%w: run as root", err)
	}
	return err
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > n {
		lines = append([]string{"..."}, lines[len(lines)-n:]...)
	}
	return strings.Join(lines, "\n")
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}
