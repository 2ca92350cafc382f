package host

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/sys/unix"

	"tare/internal/base/crash"
)

// exitTimeout is how long a program may take to exit after its standard input
// was closed.
const exitTimeout = 30 * time.Second

// killTimeout is how long a killed program may take to be gone. The kernel that it
// runs on may be a frozen guest's, which answers no more.
const killTimeout = 5 * time.Second

// program is a running one, with its standard input and output as a stream.
type program struct {
	io.Reader
	in      io.WriteCloser
	ended   chan struct{}
	kill    func()
	release func() // closes the reader

	once sync.Once
}

func (p *program) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close closes the program's standard input, which tells it to exit, and kills
// it after exitTimeout. It returns at the latest after killTimeout more.
func (p *program) Close() error {
	p.once.Do(func() {
		p.in.Close()
		crash.Go(func() { io.Copy(io.Discard, p.Reader) }) //nolint:errcheck // a program that is blocked in writing cannot exit
		timeout := time.NewTimer(exitTimeout)
		defer timeout.Stop()
		select {
		case <-p.ended:
		case <-timeout.C:
			p.kill()
			timeout.Reset(killTimeout)
			select {
			case <-p.ended:
			case <-timeout.C:
			}
		}
		p.release()
	})
	return nil
}

// open starts a command with pipes. exited is called with what Wait returned,
// before the program counts as ended.
func open(cmd *exec.Cmd, stderr io.Writer, exited func(error)) (*program, error) {
	stdinR, stdinW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe: %w", err)
	}
	stdoutR, stdoutW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a pipe: %w", err), stdinR.Close(), stdinW.Close())
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdinR, stdoutW, stderr
	err = cmd.Start()
	stdinR.Close()
	stdoutW.Close()
	if err != nil {
		return nil, errors.Join(err, stdoutR.Close(), stdinW.Close())
	}
	p := &program{
		Reader: stdoutR, in: stdinW, ended: make(chan struct{}),
		kill: func() { cmd.Process.Kill() }, release: func() { stdoutR.Close() },
	}
	crash.Go(func() {
		defer close(p.ended)
		exited(cmd.Wait())
	})
	return p, nil
}

// ExitError reports that a command ended with a status other than 0, or by a
// signal.
type ExitError struct {
	Status int    // -1 when a signal ended it
	Signal string // its name, where it is known
}

func (e *ExitError) Error() string {
	switch {
	case e.Signal != "":
		return "killed by " + e.Signal
	case e.Status < 0:
		return "killed by a signal"
	case e.Status > 128 && unix.SignalName(unix.Signal(e.Status-128)) != "":
		// A shell reports a signal by this status.
		return fmt.Sprintf("exit status %d (128 + %s)", e.Status, unix.SignalName(unix.Signal(e.Status-128)))
	}
	return fmt.Sprintf("exit status %d", e.Status)
}

// explain names the command and the host, and appends the command's last output.
func explain(h Host, argv []string, err error, stderr *Tail) error {
	if err == nil {
		return nil
	}
	if stderr != nil {
		err = fmt.Errorf("%w%s", err, stderr.Last())
	}
	return fmt.Errorf("running %s on %s: %w", short(argv), h.Name(), err)
}

// short is a command for a message: only the beginning of a script is quoted.
func short(argv []string) string {
	words := make([]string, 0, len(argv))
	for _, word := range argv {
		if line, _, more := strings.Cut(word, "\n"); more || len(line) > 60 {
			word = line[:min(len(line), 60)] + "..."
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// Tail keeps the end of a program's output for an error message. Its zero value
// is ready.
type Tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	t.kept = t.kept[max(0, len(t.kept)-2048):]
	return len(p), nil
}

// Last is "; output: ..." with the last lines, "" if there are none.
func (t *Tail) Last() string {
	text := t.text()
	switch {
	case text == "":
		return ""
	case strings.Contains(text, "\n"):
		return "; last output:\n  " + strings.ReplaceAll(text, "\n", "\n  ")
	}
	return "; output: " + text
}

// text is the output with everything escaped that a terminal would act on.
func (t *Tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	for _, r := range string(bytes.TrimSpace(bytes.ReplaceAll(t.kept, []byte("\r\n"), []byte("\n")))) {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// cut removes a line from the end of the output and reports whether it was there.
func (t *Tail) cut(line string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	rest, found := bytes.CutSuffix(t.kept, []byte(line+"\n"))
	t.kept = rest
	return found
}
