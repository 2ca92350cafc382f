package bounded

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
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

func TestABufferHoldsItsLimit(t *testing.T) {
	b := Buffer{Limit: 5}
	if n, err := io.Copy(&b, strings.NewReader("12345")); n != 5 || err != nil {
		t.Error(n, err)
	}
	if _, err := b.Write([]byte("6")); !errors.Is(err, ErrTooLong) || string(b.Bytes()) != "12345" {
		t.Errorf("%v, %q", err, b.Bytes())
	}
}
