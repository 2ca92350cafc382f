package rundir

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
)

// tailSize is the number of bytes in a Tail.
const tailSize = 4096

// bufferSize is how much of an output Hold keeps in memory.
const bufferSize = 1 << 20

// RawFile stores the output of a tool, byte for byte. Without output there is no
// file. It is safe for concurrent use.
type RawFile struct {
	run, directory, name string
	nowhere              bool

	mu      sync.Mutex
	file    *os.File
	path    string
	sum     hash.Hash
	size    int64 // with what is in the buffer
	buffer  []byte
	held    int     // how much stays in the buffer
	samples []int64 // sizes of the outputs before the present one
	limit   int64
	tooLong bool // there was more than the limit
	tail    []byte
	err     error
}

// Keep opens a raw file of a trial. Files of an interrupted attempt at the same
// trial are kept.
func (w *Writer) Keep(trial Trial, name string) *RawFile {
	directory := filepath.Join(RawDirectory, fmt.Sprintf("block-%03d", trial.Block), fileName(trial.Environment, trial.Workload, trial.Level))
	return &RawFile{run: w.Directory, directory: directory, name: name, sum: sha256.New(), limit: int64(bounded.Output)}
}

// Hold keeps an output in memory until there is more than 1 MiB of it or it is
// closed, so that no file is written between the samples of environments that
// alternate. What a kill interrupts is lost then, so it is for short samples.
func (f *RawFile) Hold() { f.held = bufferSize }

// Discard returns a raw file that stores only its tail.
func Discard(name string) *RawFile {
	return &RawFile{name: name, nowhere: true, sum: sha256.New(), limit: int64(bounded.Output)}
}

// LimitTo sets how much of the output is stored, in place of the limit of all outputs.
func (f *RawFile) LimitTo(size quantity.Bytes) { f.limit = int64(size) }

// TooLong is an error if there was more output than the limit.
func (f *RawFile) TooLong() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.tooLong {
		return nil
	}
	return fmt.Errorf("printed more than %s to %s in one trial, the most that is kept: let it print less", quantity.Bytes(f.limit), f.name)
}

// Write never fails, so that a full disk does not stop the tool: Close returns the
// error. What exceeds the limit is left out, and TooLong says so.
func (f *RawFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tail = append(f.tail, p...)
	if over := len(f.tail) - tailSize; over > 0 {
		f.tail = append(f.tail[:0], f.tail[over:]...)
	}
	n := len(p)
	if left := f.limit - f.size; int64(n) > left {
		p, f.tooLong = p[:left], true
	}
	f.size += int64(len(p))
	if f.nowhere {
		return n, nil
	}
	if f.buffer = append(f.buffer, p...); len(f.buffer) > f.held {
		f.flush()
	}
	return n, nil
}

// flush writes the buffer to the file.
func (f *RawFile) flush() {
	if len(f.buffer) > 0 && f.err == nil && f.file == nil {
		f.err = f.create()
	}
	if f.err == nil && f.file != nil {
		_, f.err = f.file.Write(f.buffer)
		f.sum.Write(f.buffer)
	}
	f.buffer = f.buffer[:0]
}

// NextSample says that the output of the next one of several samples follows.
func (f *RawFile) NextSample() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.endSample()
	f.tail = f.tail[:0]
}

func (f *RawFile) endSample() {
	before := int64(0)
	for _, n := range f.samples {
		before += n
	}
	f.samples = append(f.samples, f.size-before)
}

func (f *RawFile) create() error {
	f.path = filepath.Join(f.directory, f.name)
	for attempt := 2; ; attempt++ {
		file, err := openFile(f.run, f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
		if err == nil {
			f.file = file
			return nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		f.path = filepath.Join(f.directory, fmt.Sprintf("%s.%d", f.name, attempt))
	}
}

// Tail returns the end of the present sample's output so far.
func (f *RawFile) Tail() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]byte(nil), f.tail...)
}

// Close returns the file of the output; ok is false if there was none.
func (f *RawFile) Close() (raw Raw, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.flush()
	if err = f.err; f.file != nil {
		err = errors.Join(err, f.file.Close())
		f.file = nil
	}
	if err != nil {
		return Raw{}, false, fmt.Errorf("keep %s: %w", filepath.Join(f.directory, f.name), err)
	}
	if len(f.samples) > 0 {
		f.endSample()
	}
	return Raw{Name: f.name, Path: f.path, SHA256: hex.EncodeToString(f.sum.Sum(nil)), Bytes: f.size, Samples: f.samples}, f.path != "", nil
}
