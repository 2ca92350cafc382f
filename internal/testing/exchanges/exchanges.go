// Package exchanges holds test doubles of VMMs to the real programs. A recording
// has requests to the API of a VMM, in sessions, and what a real one answered. The
// same sessions are played with the double, which must answer the same, and with a
// real VMM where there is one, which shows that the recording is true, or renews it.
//
// It must not know any VMM by name.
package exchanges

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
)

// Exchange is one request and its answer.
type Exchange struct {
	Request string          `json:"request"` // "PUT /vsock"
	Body    json.RawMessage `json:"body,omitempty"`
	Status  int             `json:"status"` // 0: the program exited instead
	Answer  json.RawMessage `json:"answer,omitempty"`
}

// Session is what one process of a VMM was asked.
type Session struct {
	Name string `json:"name"`
	// Arguments are added to the program's.
	Arguments []string `json:"arguments,omitempty"`
	// Continues names an earlier session, in whose directory this one takes place:
	// its snapshot is there.
	Continues string `json:"continues,omitempty"`
	Guest     bool   `json:"guest,omitempty"` // a guest runs in it
	Tap       bool   `json:"tap,omitempty"`   // there is a tap, TapName

	Exchanges []Exchange `json:"exchanges"`
}

// Recording is what a version of a program answered.
type Recording struct {
	Program  string
	Version  string
	Sessions []*Session
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

// Session returns the session with that name.
func (r *Recording) Session(name string) *Session {
	for _, s := range r.Sessions {
		if s.Name == name {
			return s
		}
	}
	return nil
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
	fmt.Fprintf(&text, "{\"program\": %s, \"version\": %s, \"sessions\": [", line(r.Program), line(r.Version))
	for n, s := range r.Sessions {
		head := *s
		head.Exchanges = nil
		fmt.Fprintf(&text, "%s\n%s\n", comma(n), strings.TrimSuffix(line(head), "null}")+"[")
		for n, e := range s.Exchanges {
			fmt.Fprintf(&text, "%s%s", strings.TrimPrefix(comma(n)+"\n", "\n"), line(e))
		}
		text.WriteString("\n]}")
	}
	text.WriteString("\n]}\n")
	return os.WriteFile(path, text.Bytes(), 0o644)
}

func comma(n int) string {
	if n == 0 {
		return ""
	}
	return ","
}

// ofOneRun are the fields of answers that differ between processes and machines.
var ofOneRun = []string{"pid", "host_mac", "device_tree"}

// forget removes them from an answer.
func forget(answer any) {
	switch answer := answer.(type) {
	case map[string]any:
		for _, name := range ofOneRun {
			delete(answer, name)
		}
		for _, value := range answer {
			forget(value)
		}
	case []any:
		for _, value := range answer {
			forget(value)
		}
	}
}

// answer returns an exchange's answer without the program's version, nil for none.
func (r *Recording) answer(e Exchange) (answer any) {
	_ = json.Unmarshal([]byte(strings.ReplaceAll(string(e.Answer), r.Version, "VERSION")), &answer) // checked when it came
	return answer
}

// Difference describes how the answers of two programs to an exchange differ, "" if
// they do not. With part, a successful answer may lack fields: a double's does.
func Difference(want *Recording, expected Exchange, got *Recording, actual Exchange, part bool) string {
	whole, some := want.answer(expected), got.answer(actual)
	part = part && expected.Status/100 == 2
	if expected.Status == actual.Status && contains(whole, some) && (part || contains(some, whole)) {
		return ""
	}
	return fmt.Sprintf("%s %s\n%s: %d %s\n%s: %d %s", expected.Request, expected.Body,
		want.Program+" "+want.Version, expected.Status, expected.Answer, got.Program+" "+got.Version, actual.Status, actual.Answer)
}

// contains tells whether a value has all fields of another one. The order of lists
// does not matter: a VMM lists its devices in any.
func contains(whole, part any) bool {
	switch part := part.(type) {
	case map[string]any:
		fields, ok := whole.(map[string]any)
		for name, value := range part {
			field, has := fields[name]
			ok = ok && has && contains(field, value)
		}
		return ok
	case []any:
		elements, ok := whole.([]any)
		ok = ok && len(elements) == len(part)
		for _, one := range part {
			ok = ok && slices.ContainsFunc(elements, func(e any) bool { return contains(e, one) })
		}
		return ok
	}
	return reflect.DeepEqual(whole, part)
}
