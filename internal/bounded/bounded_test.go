package bounded

import (
	"errors"
	"fmt"
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
