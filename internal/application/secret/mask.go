package secret

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"html"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"tare/internal/base/visible"
)

// Masked is what stands in the place of a value.
const Masked = "***"

// mask finds values in what programs print.
type mask struct {
	forms  [][]byte // in which a value can occur, the longest first
	begins [256]bool
}

func newMask(values [][]byte) (m mask) {
	for _, v := range values {
		m.forms = append(m.forms, forms(v)...)
	}
	slices.SortFunc(m.forms, func(a, b []byte) int { return cmp.Or(cmp.Compare(len(b), len(a)), bytes.Compare(a, b)) })
	m.forms = slices.CompactFunc(m.forms, bytes.Equal)
	for _, f := range m.forms {
		m.begins[f[0]] = true
	}
	return m
}

// forms are the value, its long lines, and what encoders and messages make of it.
func forms(value []byte) (list [][]byte) {
	value = bytes.TrimSpace(value)
	text := string(value)
	var plain strings.Builder
	encoder := json.NewEncoder(&plain)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a string can be encoded
	escaped, _ := json.Marshal(text)
	texts := []string{
		text, visible.Text(text), url.QueryEscape(text), url.PathEscape(text), html.EscapeString(text),
		hex.EncodeToString(value), strings.ToUpper(hex.EncodeToString(value)),
	}
	for _, quoted := range []string{strings.TrimSpace(plain.String()), string(escaped), strconv.Quote(text), strconv.QuoteToASCII(text)} {
		texts = append(texts, quoted[1:len(quoted)-1])
	}
	if lines := strings.Split(text, "\n"); len(lines) > 1 {
		for _, line := range lines {
			// The first and last lines of keys are the same in all keys.
			if line = strings.TrimSpace(line); len(line) >= Least && !strings.HasPrefix(line, "-----") {
				texts = append(texts, line)
			}
		}
	}
	for _, text := range texts {
		list = append(list, []byte(text))
	}
	// In base64 a value looks different behind one or two bytes, as in user:password.
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			encoded := alphabet.EncodeToString(append(make([]byte, before), value...))
			list = append(list, []byte(encoded[(before*8+5)/6:(before+len(value))*8/6]))
		}
	}
	return list
}

// replace appends what is masked of b to out. Unless b is the end, rest is what may be
// the beginning of a value.
func (m *mask) replace(out, b []byte, end bool) (masked, rest []byte) {
next:
	for len(b) > 0 {
		if m.begins[b[0]] {
			for _, f := range m.forms {
				if bytes.HasPrefix(b, f) {
					out, b = append(out, Masked...), b[len(f):]
					continue next
				}
				if !end && len(b) < len(f) && bytes.HasPrefix(f, b) {
					return out, b
				}
			}
		}
		out, b = append(out, b[0]), b[1:]
	}
	return out, nil
}

func (m *mask) all(text []byte) []byte {
	out, _ := m.replace(make([]byte, 0, len(text)), text, true)
	return out
}

// Writer masks what is written to it, also where a value comes in several writes. Flush
// ends a text: it writes what could have become a value.
type Writer struct {
	mask *mask
	to   io.Writer

	mu   sync.Mutex
	held []byte
}

// Writer returns a writer that masks what it passes on.
func (s *Set) Writer(to io.Writer) *Writer { return &Writer{mask: &s.mask, to: to} }

// Write fails if the receiver fails.
func (w *Writer) Write(p []byte) (int, error) { return len(p), w.pass(p, false) }

// Flush writes what is held back.
func (w *Writer) Flush() error { return w.pass(nil, true) }

func (w *Writer) pass(p []byte, end bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	out, rest := w.mask.replace(make([]byte, 0, len(w.held)+len(p)), append(w.held, p...), end)
	w.held = bytes.Clone(rest)
	if len(out) == 0 {
		return nil
	}
	_, err := w.to.Write(out)
	return err
}

// Close flushes, and closes the receiver if it can be closed.
func (w *Writer) Close() error {
	err := w.Flush()
	if c, closes := w.to.(io.Closer); closes {
		return cmp.Or(c.Close(), err)
	}
	return err
}
