package bounded

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func TestAFileIsReadUpToItsLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("12345"), 0o644); err != nil {
		t.Fatal(err)
	}
	if data, err := ReadFile(path, 5); err != nil || string(data) != "12345" {
		t.Error(string(data), err)
	}
	if _, err := ReadFile(path, 4); !errors.Is(err, ErrTooLong) || !strings.Contains(err.Error(), path+": it is too long: the limit is 4B") {
		t.Error(err)
	}
	if _, err := ReadFile("/dev/zero", 1<<20); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
	if _, err := ReadFile(path+"x", 4); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := ReadFile(t.TempDir(), 4); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Error(err)
	}
}

func TestAPipeIsReadIfItHasAWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path, 9); err == nil || !strings.Contains(err.Error(), "is a pipe that nobody writes to") {
		t.Error(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Error(err)
	}
	// As a shell passes <(command).
	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	writer.WriteString("text")
	writer.Close()
	if data, err := ReadFile(fmt.Sprintf("/dev/fd/%d", reader.Fd()), 9); err != nil || string(data) != "text" {
		t.Error(string(data), err)
	}
}

func TestALineIsReadUpToItsLimit(t *testing.T) {
	in := bufio.NewReaderSize(strings.NewReader("one\n"+strings.Repeat("x", 99)+"\ntail"), 16)
	for _, want := range []string{"one\n", strings.Repeat("x", 99) + "\n"} {
		if line, err := ReadLine(in, 100); err != nil || string(line) != want {
			t.Errorf("%q, %v", line, err)
		}
	}
	if line, err := ReadLine(in, 100); err != io.EOF || string(line) != "tail" {
		t.Errorf("%q, %v", line, err)
	}
	endless := bufio.NewReader(io.LimitReader(zeros{}, 1<<40))
	if _, err := ReadLine(endless, 1<<20); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestValuesAreReadUpToTheirLimit(t *testing.T) {
	values := NewValues(strings.NewReader(`{"a": 1} [2]`+strings.Repeat(" ", 50)+`"`+strings.Repeat("x", 200)+`"`), 100)
	for range 2 {
		var v any
		if err := values.Next(&v); err != nil || v == nil {
			t.Error(v, err)
		}
	}
	if err := values.Next(new(any)); !errors.Is(err, ErrTooLong) {
		t.Error(err)
	}
	if err := NewValues(strings.NewReader(""), 100).Next(new(any)); err != io.EOF {
		t.Error(err)
	}
}

func TestABodyOfJSONIsReadUpToItsLimit(t *testing.T) {
	for kind, limited := range map[string]bool{"application/json; charset=utf-8": true, "application/x-tar": false} {
		r := &http.Response{Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(io.LimitReader(zeros{}, 2*int64(Answer)))}
		Body(r)
		if _, err := io.Copy(io.Discard, r.Body); errors.Is(err, ErrTooLong) != limited {
			t.Error(kind, err)
		}
	}
}

func TestABufferHoldsItsLimit(t *testing.T) {
	b := Buffer{Limit: 5}
	if n, err := io.Copy(&b, strings.NewReader("12345")); n != 5 || err != nil {
		t.Error(n, err)
	}
	if _, err := b.Write([]byte("6")); !errors.Is(err, ErrTooLong) || string(b.Bytes()) != "12345" {
		t.Errorf("%v, %q", err, b.Bytes())
	}
}

func TestAWriterFailsBeyondItsLimit(t *testing.T) {
	var text strings.Builder
	w := Writer(&text, 5)
	if _, err := w.Write([]byte("12345")); err != nil || text.String() != "12345" {
		t.Error(text.String(), err)
	}
	if _, err := w.Write([]byte("6")); !errors.Is(err, ErrTooLong) || text.String() != "12345" {
		t.Error(text.String(), err)
	}
}

func TestAnotherFileIsNoWayOutOfTheLimitOfOpenFiles(t *testing.T) {
	const caller = "choose another file"
	for err, want := range map[error]string{
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EMFILE}: "raise the limit of open files (ulimit -n)",
		&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}: caller,
	} {
		if got := Way(err, caller); got != want {
			t.Errorf("%v: %s", err, got)
		}
	}
}
