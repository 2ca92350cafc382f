package exchanges

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"tare/internal/environment/support/microvm"
)

// Renew is the variable that makes a test write what was asked and answered.
const Renew = "UPDATE_GOLDEN"

// Observer keeps what VMMs are asked and answer in one test.
type Observer struct {
	// Quit is the request that makes a VMM exit. It is not kept: a guest that powers itself
	// off in time needs none.
	Quit string

	mutex  sync.Mutex
	guests map[string][]Exchange
}

// Context returns a context whose requests to VMMs are kept.
func (o *Observer) Context(ctx context.Context) context.Context {
	o.guests = map[string][]Exchange{}
	return microvm.Observe(ctx, func(e microvm.Exchange) {
		if e.Request == o.Quit {
			return
		}
		o.mutex.Lock()
		defer o.mutex.Unlock()
		name := guestOf(e.Directory)
		o.guests[name] = append(o.guests[name], Exchange{e.Request, neutral(e.Body, e.Directory), e.Status, neutral(e.Answer, e.Directory)})
	})
}

// Check compares what was asked and answered with the recording in a file, or writes it
// there; see Renew. version is that of a real VMM, "" for a replay.
func (o *Observer) Check(t *testing.T, file, version string) {
	t.Helper()
	r, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	for name, got := range o.guests {
		if os.Getenv(Renew) == "" {
			if d := r.difference(r.Guests[name], got); d != "" {
				t.Errorf("guest %s: %s", name, d)
			}
			continue
		}
		r.Guests[name] = got
	}
	if os.Getenv(Renew) != "" && !t.Failed() {
		r.Version = cmp.Or(version, r.Version)
		if err := r.Write(file); err != nil {
			t.Error(err)
		}
	}
}

// difference describes where two lists of exchanges differ first, "" if nowhere.
func (r *Recording) difference(want, got []Exchange) string {
	for n := range max(len(want), len(got)) {
		var w, g Exchange
		if n < len(want) {
			w = want[n]
		}
		if n < len(got) {
			g = got[n]
		}
		asked, answered := decoded(w.Answer), decoded(g.Answer)
		if w.Request != g.Request || w.Status != g.Status || !reflect.DeepEqual(decoded(w.Body), decoded(g.Body)) ||
			!contains(asked, answered) || !contains(answered, asked) {
			return fmt.Sprintf("exchange %d is\n%s %s: %d %s\nand was, with %s %s (%s=1 writes the new one),\n%s %s: %d %s",
				n+1, g.Request, g.Body, g.Status, g.Answer, r.Program, r.Version, Renew, w.Request, w.Body, w.Status, w.Answer)
		}
	}
	return ""
}

// decoded is a body, nil for none.
func decoded(body json.RawMessage) (value any) {
	_ = json.Unmarshal(body, &value) // checked when it came
	return value
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

// guestOf is the name of the guest whose VMM runs in a directory: that of the directory,
// or of the one around a jail's root.
func guestOf(dir string) string { return filepath.Base(strings.TrimSuffix(dir, "/root")) }

// What differs between runs and machines, in requests and answers.
var (
	ofOneRun   = regexp.MustCompile(`(tare\.net=)[0-9./,]+|(52:54)(?::[0-9a-f]{2}){4}`)
	ofOneGuest = []string{"pid", "host_mac", "device_tree", "max_phys_bits", "build_version", "version", "vmm_version"}
)

// neutral is a body without what differs between runs and machines.
func neutral(body []byte, dir string) json.RawMessage {
	if len(body) == 0 {
		return nil
	}
	text := ofOneRun.ReplaceAllString(strings.ReplaceAll(string(body), dir, "DIR"), "${1}${2}")
	var value any
	if json.Unmarshal([]byte(text), &value) != nil {
		value = text
	}
	forget(value)
	data, _ := json.Marshal(value) // of what was decoded
	return data
}

func forget(value any) {
	switch value := value.(type) {
	case map[string]any:
		for _, name := range ofOneGuest {
			delete(value, name)
		}
		for _, field := range value {
			forget(field)
		}
	case []any:
		for _, element := range value {
			forget(element)
		}
	}
}
