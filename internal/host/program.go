package host

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// closing is how long a program may take to end when its input has ended.
const closing = 30 * time.Second

// program is one that runs, with its standard input and output as a stream.
type program struct {
	io.Reader
	in      io.WriteCloser
	ended   chan struct{}
	kill    func()
	release func() // what the reading holds

	once sync.Once
}

func (p *program) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close ends the program's input, which is its sign to end, waits for that, and
// kills it where it does not.
func (p *program) Close() error {
	p.once.Do(func() {
		p.in.Close()
		go io.Copy(io.Discard, p.Reader) // it may be stuck in what it still says
		patience := time.NewTimer(closing)
		defer patience.Stop()
		select {
		case <-p.ended:
		case <-patience.C:
			p.kill()
			<-p.ended
		}
		p.release()
	})
	return nil
}

// ExitError says that a command ended with a status other than 0, or by a signal.
type ExitError struct {
	Status int    // -1 when a signal ended it
	Signal string // its name, where it is known
}

func (e *ExitError) Error() string {
	switch {
	case e.Signal != "":
		return "it was ended by " + e.Signal
	case e.Status < 0:
		return "it was ended by a signal"
	}
	return fmt.Sprintf("it ended with status %d", e.Status)
}

// explain says what was run where, and what it complained of.
func explain(h Host, argv []string, err error, complaints *Tail) error {
	if err == nil {
		return nil
	}
	if complaints != nil {
		err = fmt.Errorf("%w%s", err, complaints.Last())
	}
	return fmt.Errorf("running %s on %s: %w", short(argv), h.Name(), err)
}

// short is a command as a message names it: a script is not told in full.
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

// Tail keeps the end of what a program complains of, to stand in a message. Its
// zero value is ready.
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

// Last is "; it said: ..." with the last lines, "" if there are none.
func (t *Tail) Last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(bytes.TrimSpace(t.kept))
	switch {
	case text == "":
		return ""
	case strings.Contains(text, "\n"):
		return "; it said last:\n  " + strings.ReplaceAll(text, "\n", "\n  ")
	}
	return "; it said: " + text
}
