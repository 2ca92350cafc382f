// Package bounded reads files that somebody else may have made: not more of them than
// a limit, and without waiting for a writer that never comes.
//
// It must not know what the files are.
package bounded

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strings"
	"syscall"

	"tare/internal/base/quantity"
)

// Limits of what is read as a whole.
const (
	// Answer is the limit of what a program answers to a request, or reports as one event.
	Answer = 16 * quantity.MiB
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

// Sum is the SHA-256 of a regular file, in hexadecimal.
func Sum(path string) (string, error) {
	file, err := Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// Cause is why a file could not be used, for a message that names the file itself.
func Cause(err error) error {
	if pathed := (*fs.PathError)(nil); errors.As(err, &pathed) {
		return pathed.Err
	}
	return err
}

// Way is the way out of an error about a file: the caller's, unless another file would
// fail in the same way.
func Way(err error, caller string) string {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return "raise the limit of open files (ulimit -n)"
	}
	return caller
}

// Temporary makes a directory among the temporary files, with a name that begins so.
func Temporary(prefix string) (string, error) { return TemporaryIn(os.TempDir(), prefix) }

// TemporaryIn is Temporary in a directory that may be another one than TMPDIR.
func TemporaryIn(parent, prefix string) (string, error) {
	directory, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		err = fmt.Errorf("no directory can be made in %s: %w; %s", parent, Cause(err), Way(err, "set TMPDIR to one where that is possible"))
	}
	return directory, err
}

// ErrTooLong is the error of what exceeds its limit.
var ErrTooLong = errors.New("it is too long")

// ReadAll reads a stream of at most limit bytes.
func ReadAll(from io.Reader, limit quantity.Bytes) ([]byte, error) {
	return io.ReadAll(Reader(from, limit))
}

// reader fails where more than what is left is read.
type reader struct {
	from        io.Reader
	limit, left quantity.Bytes
}

// Reader reads a stream of at most limit bytes.
func Reader(from io.Reader, limit quantity.Bytes) io.Reader { return &reader{from, limit, limit} }

func (r *reader) Read(p []byte) (int, error) {
	if r.left > 0 {
		n, err := r.from.Read(p[:min(len(p), int(r.left))])
		r.left -= quantity.Bytes(n)
		return n, err
	}
	var one [1]byte
	n, err := r.from.Read(one[:])
	if n > 0 {
		return 0, fmt.Errorf("%w: the limit is %s", ErrTooLong, r.limit)
	}
	return 0, err
}

// Body limits the body of a response if it is JSON, which clients read as a whole.
func Body(r *http.Response) {
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		r.Body = struct {
			io.Reader
			io.Closer
		}{Reader(r.Body, Answer), r.Body}
	}
}

// Values reads the JSON values of a stream, each of at most a number of bytes.
type Values struct {
	from    *reader
	decoder *json.Decoder
}

// NewValues returns the values of a stream.
func NewValues(from io.Reader, limit quantity.Bytes) *Values {
	r := &reader{from, limit, limit}
	return &Values{r, json.NewDecoder(r)}
}

// Next decodes the next value. What was read before it counts too.
func (v *Values) Next(into any) error {
	v.from.left = v.from.limit
	return v.decoder.Decode(into)
}

// writer fails where more than what is left is written.
type writer struct {
	to          io.Writer
	limit, left quantity.Bytes
}

// Writer writes at most limit bytes.
func Writer(to io.Writer, limit quantity.Bytes) io.Writer { return &writer{to, limit, limit} }

func (w *writer) Write(p []byte) (int, error) {
	if w.left -= quantity.Bytes(len(p)); w.left < 0 {
		return 0, fmt.Errorf("%w: the limit is %s", ErrTooLong, w.limit)
	}
	return w.to.Write(p)
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
