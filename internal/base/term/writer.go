package term

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"math/big"
	"regexp"
	"strings"
	"unicode"

	"tare/internal/base/visible"
)

// Writer writes text to a terminal, a file or a pipe so that nothing in it acts there:
// not what came from an image, a run or a server, only what Own marked.
type Writer struct {
	out   io.Writer
	err   error
	begun bool // the line has more than spaces
	hash  bool // the last character was #
}

// Err is the first error of what was written: most who print look at none.
func (w *Writer) Err() error { return w.err }

// NewWriter returns a Writer to out, which is out if it is one already.
func NewWriter(out io.Writer) *Writer {
	if w, already := out.(*Writer); already {
		return w
	}
	return &Writer{out: out}
}

// Binary is what a Writer writes to, for data that is no text. A terminal is not: it gets
// what the Writer shows.
func Binary(w io.Writer) io.Writer {
	if own, is := w.(*Writer); is {
		if _, terminal := Width(w); !terminal {
			return own.out
		}
	}
	return w
}

// mark is a control sequence without meaning that nobody outside this process knows.
var mark = func() string {
	n, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		panic(err) // documented never to happen
	}
	return fmt.Sprintf("\x1b[%dz", n)
}()

// owned are the sequences that Own marked.
var owned = regexp.MustCompile(regexp.QuoteMeta(mark) + "(\r|\x1b\\[[0-9;]*[A-Za-z])")

// Own marks a control sequence of tare's own for a Writer: a carriage return, or one
// that begins with ESC [.
func Own(sequence string) string { return mark + sequence }

// anywhere are commands to runners of CI wherever they are in a line of a job's output:
// ##[add-mask] of GitHub and Azure, ##vso[task.complete], ##teamcity[message].
var anywhere = regexp.MustCompile(`##(\w*(?:\[|$))`)

// inert is a text without commands that the runner of a CI job obeys in what is printed. A
// line that begins with :: is one of GitHub. In JSON the escapes are part of a string.
func (w *Writer) inert(text string) string {
	var shown strings.Builder
	if after, is := strings.CutPrefix(text, "#"); is && w.hash {
		shown.WriteString(`\u0023`)
		text = after
	}
	w.hash = strings.HasSuffix(text, "#")
	for line := range strings.Lines(visible.Text(text)) {
		bare := strings.TrimLeftFunc(line, unicode.IsSpace)
		if !w.begun && (bare == ":" || strings.HasPrefix(bare, "::")) {
			line = line[:len(line)-len(bare)] + `\u003a` + bare[1:]
		}
		w.begun = !strings.HasSuffix(line, "\n") && (w.begun || bare != "")
		shown.WriteString(line)
	}
	return anywhere.ReplaceAllString(shown.String(), `\u0023#$1`)
}

// Write writes the text, with what acts shown as an escape. It may be part of a text, if
// it does not begin or end within a character or a sequence.
func (w *Writer) Write(text []byte) (int, error) {
	var shown bytes.Buffer
	end := 0
	for _, at := range owned.FindAllSubmatchIndex(text, -1) {
		shown.WriteString(w.inert(string(text[end:at[0]])))
		shown.Write(text[at[2]:at[3]])
		w.begun = w.begun && text[at[2]] != '\r' // with which runners of CI end a line
		end = at[1]
	}
	shown.WriteString(w.inert(string(text[end:])))
	if _, err := w.out.Write(shown.Bytes()); err != nil {
		w.err = cmp.Or(w.err, err)
		return 0, err
	}
	return len(text), nil
}
