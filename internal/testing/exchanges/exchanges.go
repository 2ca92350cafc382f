// Package exchanges records what a VMM is asked through its API while tare runs a guest,
// and what it answers. A recording stands for the VMM where that cannot run: tare has to
// ask the same again, and a program without a guest gives the recorded answers; see
// Replay.
//
// It must not know any VMM by name.
package exchanges

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// Exchange is one request and its answer.
type Exchange struct {
	Request string          `json:"request"` // "PUT /vsock"
	Body    json.RawMessage `json:"body,omitempty"`
	Status  int             `json:"status"`
	Answer  json.RawMessage `json:"answer,omitempty"`
}

// Recording is what a version of a program was asked and answered, by the name of the
// guest.
type Recording struct {
	Program string                `json:"program"`
	Version string                `json:"version"`
	Guests  map[string][]Exchange `json:"guests"`
}

// Read reads a recording.
func Read(path string) (*Recording, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	r := &Recording{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// Write writes a recording, each exchange in a line of its own.
func (r *Recording) Write(path string) error {
	var text bytes.Buffer
	line := func(value any) string {
		var data bytes.Buffer
		e := json.NewEncoder(&data)
		e.SetEscapeHTML(false)
		if err := e.Encode(value); err != nil {
			panic(err) // nothing that cannot be encoded
		}
		return strings.TrimSpace(data.String())
	}
	fmt.Fprintf(&text, "{\"program\": %s, \"version\": %s, \"guests\": {", line(r.Program), line(r.Version))
	separator := ""
	for _, name := range slices.Sorted(maps.Keys(r.Guests)) {
		fmt.Fprintf(&text, "%s\n%s: [", separator, line(name))
		for n, e := range r.Guests[name] {
			fmt.Fprintf(&text, "%s\n%s", strings.Repeat(",", min(n, 1)), line(e))
		}
		text.WriteString("\n]")
		separator = ","
	}
	text.WriteString("\n}}\n")
	return os.WriteFile(path, text.Bytes(), 0o644)
}
