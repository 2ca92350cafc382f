// Package logdriver stands between an instance and tare as an engine's log driver
// does: what comes in goes out as it is, and is written down beside it.
//
// It must not know what passes.
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

// size of the buffer: the longest line that an engine writes as one.
const size = 16 << 10

// Copy hands on what comes in until its end. Format is pipe (nothing is written
// down), file (to a file, as it is) or json-file (to a file, one JSON object a
// line, in Docker's format).
func Copy(in io.Reader, out io.Writer, format, file string, now func() time.Time) (err error) {
	note := func([]byte) error { return nil }
	end := note
	if format != "pipe" {
		log, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
		if err != nil {
			return fmt.Errorf("opening the log: %w", err)
		}
		defer func() { err = errors.Join(err, log.Close()) }()
		switch format {
		case "file":
			note = func(p []byte) error { _, err := log.Write(p); return err }
		case "json-file":
			l := &lines{to: log, now: now}
			note, end = l.add, l.rest
		default:
			return fmt.Errorf("%q is no format of a log: pipe, file or json-file", format)
		}
	}
	buffer := make([]byte, size)
	for {
		n, reading := in.Read(buffer)
		if n > 0 {
			if _, err := out.Write(buffer[:n]); err != nil {
				return fmt.Errorf("handing on: %w", err)
			}
			if err := note(buffer[:n]); err != nil {
				return fmt.Errorf("writing the log: %w", err)
			}
		}
		if errors.Is(reading, io.EOF) {
			return end(nil)
		}
		if reading != nil {
			return errors.Join(reading, end(nil))
		}
	}
}

// lines writes one object a line, or a part of one that is too long.
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

func (l *lines) rest([]byte) error {
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
