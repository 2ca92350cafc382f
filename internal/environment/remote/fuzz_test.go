package remote

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"tare/internal/testing/fuzzing"
)

// FuzzMessages: whatever comes over the stream of a call is a greeting, events and
// results as they are written, or an error; what follows the greeting stays in the stream.
func FuzzMessages(f *testing.F) {
	f.Add([]byte(preamble + ` 1 {"version":"x","cpus":2}` + "\n" + `{"say":"x"}` + "\n" + `{"console":"eA=="}` + "\n" + `{"result":{"instance":1,"phases":[{"name":"x"}]}}` + "\n"))
	f.Add([]byte(`{"call":"start","kind":"native","options":{},"limits":{"cpus":1}}` + "\n"))
	f.Add([]byte(`{"reading":{"seconds":1}}` + "\n" + `{"result":{"usage":{},"series":null}}` + "\n" + `{"error":"no"}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzing.Allocates(t, 8<<20+uint64(len(data))*1000, func() {
			stream := bytes.NewReader(data)
			if _, err := readHello(stream); err == nil && !strings.HasPrefix(string(data), preamble) {
				t.Errorf("%q is taken for a greeting", data)
			}
			rest := data[len(data)-stream.Len():]
			sent := &conversation{reader: bufio.NewReader(bytes.NewReader(rest))}
			for {
				var e event
				if err := sent.receive(&e); err != nil {
					break
				}
				for _, result := range []any{&checkResult{}, &description{}, &started{}, &watched{}, &frozen{}, &networked{}} {
					_ = json.Unmarshal(e.Result, result)
				}
				text, err := json.Marshal(e)
				if err != nil {
					t.Fatal(err)
				}
				var again event
				if err := json.Unmarshal(text, &again); err != nil {
					t.Errorf("%s: %v", text, err)
				}
			}
			asked := &conversation{reader: bufio.NewReader(bytes.NewReader(rest))}
			for {
				var r request
				if asked.receive(&r) != nil {
					break
				}
				if _, o, err := options(r); err == nil && o == nil {
					t.Errorf("kind %q has no options", r.Kind)
				}
			}
		})
	})
}
