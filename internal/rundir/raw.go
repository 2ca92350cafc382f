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
)

// tailSize is the number of bytes in a Tail.
const tailSize = 4096

// RawFile stores the output of a tool, byte for byte. The file is created with the
// first byte: without output there is none. It is safe for concurrent use.
type RawFile struct {
	run, directory, name string
	nowhere              bool

	mu   sync.Mutex
	file *os.File
	path string
	sum  hash.Hash
	size int64
	tail []byte
	err  error
}

// Keep opens a raw file of a trial. Files of an interrupted attempt at the same
// trial are kept.
func (w *Writer) Keep(trial Trial, name string) *RawFile {
	directory := filepath.Join(rawDirectory, fmt.Sprintf("block-%03d", trial.Block), fileName(trial.Environment, trial.Workload, trial.Level))
	return &RawFile{run: w.Directory, directory: directory, name: name, sum: sha256.New()}
}

// Discard returns a raw file that stores only its tail.
func Discard(name string) *RawFile { return &RawFile{name: name, nowhere: true, sum: sha256.New()} }

// Write never fails, so that a full disk does not stop the tool: Close returns the
// error.
func (f *RawFile) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tail = append(f.tail, p...)
	if over := len(f.tail) - tailSize; over > 0 {
		f.tail = append(f.tail[:0], f.tail[over:]...)
	}
	if len(p) == 0 || f.err != nil || f.nowhere {
		return len(p), nil
	}
	if f.file == nil {
		if f.err = f.create(); f.err != nil {
			return len(p), nil
		}
	}
	n, err := f.file.Write(p)
	f.sum.Write(p[:n])
	f.size += int64(n)
	f.err = err
	return len(p), nil
}

func (f *RawFile) create() error {
	if err := os.MkdirAll(filepath.Join(f.run, f.directory), 0o755); err != nil {
		return err
	}
	f.path = filepath.Join(f.directory, f.name)
	for attempt := 2; ; attempt++ {
		file, err := os.OpenFile(filepath.Join(f.run, f.path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
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

// Tail returns the end of the output so far.
func (f *RawFile) Tail() []byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]byte(nil), f.tail...)
}

// Close returns the file of the output; ok is false if there was none.
func (f *RawFile) Close() (raw Raw, ok bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err = f.err
	if f.file != nil {
		err = errors.Join(err, f.file.Close())
		f.file = nil
	}
	if err != nil {
		return Raw{}, false, fmt.Errorf("keep %s: %w", filepath.Join(f.directory, f.name), err)
	}
	return Raw{Name: f.name, Path: f.path, SHA256: hex.EncodeToString(f.sum.Sum(nil)), Bytes: f.size}, f.path != "", nil
}
