// Package logdriver copies an instance's output and logs it, as the log driver of
// a container engine does.
//
// It treats the stream as opaque.
package logdriver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// size of the buffer, and the maximum length of an entry, as in Docker.
const size = 16 << 10

// Copy copies in to out until EOF and logs the data. Format is pipe (no log),
// file (a raw file) or json-file (a file in Docker's format, one JSON object per
// line).
func Copy(in io.Reader, out io.Writer, format, file string, now func() time.Time) (err error) {
	write := func([]byte) error { return nil }
	flush := write
	if format != "pipe" {
		log, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
		if err != nil {
			return fmt.Errorf("opening the log: %w", err)
		}
		defer func() { err = errors.Join(err, log.Close()) }()
		switch format {
		case "file":
			write = func(p []byte) error { _, err := log.Write(p); return err }
		case "json-file":
			l := &lines{to: log, now: now}
			write, flush = l.add, l.flush
		default:
			return fmt.Errorf("unknown log format %q: use pipe, file or json-file", format)
		}
	}
	buffer := make([]byte, size)
	for {
		n, readErr := in.Read(buffer)
		if n > 0 {
			if _, err := out.Write(buffer[:n]); err != nil {
				return fmt.Errorf("copying the stream: %w", err)
			}
			if err := write(buffer[:n]); err != nil {
				return fmt.Errorf("writing the log: %w", err)
			}
		}
		if errors.Is(readErr, io.EOF) {
			return flush(nil)
		}
		if readErr != nil {
			return errors.Join(readErr, flush(nil))
		}
	}
}

// lines writes one JSON object per line. A line that is too long is split.
type lines struct {
	to   io.Writer
	now  func() time.Time
	kept []byte
}

type entry struct {
	Log    string `json:"log"`
	Stream string `json:"stream"`
	Time   string `json:"time"`
}

func (l *lines) add(p []byte) error {
	l.kept = append(l.kept, p...)
	left := l.kept
	for {
		end := bytes.IndexByte(left, '\n') + 1
		if end == 0 || end > size {
			if len(left) < size {
				break
			}
			end = size
		}
		if err := l.write(left[:end]); err != nil {
			return err
		}
		left = left[end:]
	}
	l.kept = append(l.kept[:0], left...)
	return nil
}

func (l *lines) flush([]byte) error {
	if len(l.kept) == 0 {
		return nil
	}
	return l.write(l.kept)
}

func (l *lines) write(line []byte) error {
	text, err := json.Marshal(entry{string(line), "stdout", l.now().UTC().Format(time.RFC3339Nano)})
	if err != nil {
		return err
	}
	_, err = l.to.Write(append(text, '\n'))
	return err
}
