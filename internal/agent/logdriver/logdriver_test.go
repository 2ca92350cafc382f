package logdriver

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"pgregory.net/rapid"
)

func clock() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 678, time.UTC) }

func TestTheStreamIsForwardedAndLogged(t *testing.T) {
	directory := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.SampledFrom([]byte("ab\n\x00\"é"))).Draw(t, "text")
		text = bytes.Repeat(text, rapid.SampledFrom([]int{1, 5000}).Draw(t, "times"))
		for _, format := range []string{"pipe", "file", "json-file"} {
			file := filepath.Join(directory, format)
			os.Remove(file)
			var out bytes.Buffer
			if err := Copy(bytes.NewReader(text), &out, format, file, clock); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out.Bytes(), text) {
				t.Fatalf("%s: %d bytes went in and %d others out", format, len(text), out.Len())
			}
			log, err := os.ReadFile(file)
			switch format {
			case "pipe":
				if err == nil {
					t.Fatal("a pipe writes a file")
				}
			case "file":
				if !bytes.Equal(log, text) {
					t.Fatalf("the file holds %q", log)
				}
			case "json-file":
				back := ""
				for line := range strings.Lines(string(log)) {
					var e entry
					if err := json.Unmarshal([]byte(line), &e); err != nil {
						t.Fatal(err)
					}
					if i := strings.IndexByte(e.Log, '\n'); i >= 0 && i != len(e.Log)-1 || e.Log == "" {
						t.Fatalf("%q is no line", e.Log)
					}
					back += e.Log
				}
				// As in Docker's, a byte that is no text becomes a replacement.
				if len([]rune(back)) < len([]rune(string(text))) {
					t.Fatalf("%q comes back as %q", text, back)
				}
			}
		}
	})
}

func TestLogLinesHaveDockersFormat(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	if err := Copy(iotest.OneByteReader(strings.NewReader("one \"two\"\nthree")), &bytes.Buffer{}, "json-file", file, clock); err != nil {
		t.Fatal(err)
	}
	got, _ := os.ReadFile(file)
	want := `{"log":"one \"two\"\n","stream":"stdout","time":"2026-01-02T03:04:05.000000678Z"}
{"log":"three","stream":"stdout","time":"2026-01-02T03:04:05.000000678Z"}
`
	if string(got) != want {
		t.Errorf("got %s", got)
	}
}
