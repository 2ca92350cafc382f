// Package bounded reads files that somebody else may have made: not more of them than
// a limit, and without waiting for a writer that never comes.
//
// It must not know what the files are.
package bounded

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"tare/internal/quantity"
)

// Limits of what is read as a whole.
const (
	// Line is the limit of a line of a file or stream that programs write, and of a
	// file that has one value.
	Line = 64 * quantity.MiB
	// Output is the limit of what a command prints, where tare reads it as a whole.
	Output = quantity.GiB
)

// Open opens a regular file for reading.
func Open(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "read", Path: path, Err: syscall.EISDIR}
	} else if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is not a regular file", path)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// ReadFile reads a file of at most limit bytes. It can be a pipe with a writer, such as
// a shell's <(command).
func ReadFile(path string, limit quantity.Bytes) ([]byte, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := ReadAll(file, limit)
	if info, failed := file.Stat(); err == nil && len(data) == 0 && failed == nil && info.Mode().Type() == fs.ModeNamedPipe {
		err = errors.New("it is a pipe that nobody writes to")
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: path, Err: Cause(err)}
	}
	return data, nil
}

// Cause is why a file could not be used, for a message that names the file itself.
func Cause(err error) error {
	if pathed := (*fs.PathError)(nil); errors.As(err, &pathed) {
		return pathed.Err
	}
	return err
}

// ErrTooLong is the error of what exceeds its limit.
var ErrTooLong = errors.New("it is too long")

// ReadAll reads a stream of at most limit bytes.
func ReadAll(from io.Reader, limit quantity.Bytes) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, int64(limit)+1))
	if err == nil && quantity.Bytes(len(data)) > limit {
		return nil, fmt.Errorf("%w: the limit is %s", ErrTooLong, limit)
	}
	return data, err
}

// Buffer holds what is written to it. A write beyond the limit fails.
type Buffer struct {
	Limit quantity.Bytes
	held  []byte
}

// Bytes is what was written.
func (b *Buffer) Bytes() []byte { return b.held }

func (b *Buffer) Write(p []byte) (int, error) {
	if quantity.Bytes(len(b.held)+len(p)) > b.Limit {
		return 0, fmt.Errorf("%w: the limit is %s", ErrTooLong, b.Limit)
	}
	b.held = append(b.held, p...)
	return len(p), nil
}

// ReadLine reads a line of at most limit bytes, with its newline. At the end of the
// stream it returns what is left and io.EOF.
func ReadLine(from *bufio.Reader, limit quantity.Bytes) ([]byte, error) {
	var line []byte
	for {
		part, err := from.ReadSlice('\n')
		if line = append(line, part...); quantity.Bytes(len(line)) > limit {
			return nil, fmt.Errorf("%w: the limit of a line is %s", ErrTooLong, limit)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
