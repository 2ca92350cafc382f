// Package tool calls the programs of this machine that images are made with.
//
// It must not know what they make.
package tool

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"tare/internal/linux/userns"
)

// PackageOf has the Debian package of each program that is called here, for the
// message if it is missing.
var PackageOf = map[string]string{
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

// Call is one call of a program.
type Call struct {
	Argv []string
	Env  []string // added to the process's own
	Dir  string
	// mapped runs it as root of a user namespace; nil does not.
	Mapped *userns.IDs
	// hear is called with every line of both outputs; nil is not called.
	Hear func(line string)
}

// Error is the error of a program that exited with a non-zero status.
type Error struct {
	Argv   []string
	Cause  error
	Output string // of both streams, the end of it
}

func (e *Error) Error() string {
	text := strings.TrimSpace(e.Output)
	text = cmp.Or(text, "it printed nothing")
	return fmt.Sprintf("%s: %v:\n%s", strings.Join(e.Argv, " "), e.Cause, Indent(LastLines(text, 20)))
}

func (e *Error) Unwrap() error { return e.Cause }

// Run calls the program and returns its standard output. If the context ends,
// its process group gets SIGTERM, so that it can clean up, and later SIGKILL.
func (t Call) Run(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, t.Argv[0], t.Argv[1:]...)
	cmd.Dir = t.Dir
	cmd.Env = append(append(os.Environ(), "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive"), t.Env...)
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
	out := &lineWriter{mu: &mu, hear: t.Hear, keep: []*strings.Builder{&stdout, &both}}
	errs := &lineWriter{mu: &mu, hear: t.Hear, keep: []*strings.Builder{&both}}
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
		return "", NotInstalled(t.Argv[0])
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s was canceled: %w", t.Argv[0], ctx.Err())
	}
	return stdout.String(), &Error{Argv: t.Argv, Cause: err, Output: both.String()}
}

func (t Call) start(cmd *exec.Cmd) error {
	if t.Mapped != nil {
		return userns.Start(cmd, *t.Mapped)
	}
	return cmd.Start()
}

// NotInstalled is the error about a program that is missing.
func NotInstalled(program string) error {
	return fmt.Errorf("%s is not installed: apt-get install %s", program, PackageOf[program])
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

// LastLines shortens a text to its end.
func LastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > n {
		lines = append([]string{"..."}, lines[len(lines)-n:]...)
	}
	return strings.Join(lines, "\n")
}

// Indent sets a text apart from the message that quotes it.
func Indent(text string) string {
	return "  " + strings.ReplaceAll(text, "\n", "\n  ")
}
