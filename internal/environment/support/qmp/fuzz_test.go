package qmp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"

	"tare/internal/testing/fuzzing"
)

// recorded is QEMU that says the same whatever it is asked.
type recorded struct{ io.Reader }

func (recorded) Write(p []byte) (int, error) { return len(p), nil }
func (recorded) Close() error                { return nil }

// FuzzMonitor: whatever QEMU says, a command ends, and its error is QEMU's or says what
// is wrong with the connection.
func FuzzMonitor(f *testing.F) {
	f.Add([]byte(greeting + `{"return": {}, "id": 1}{"event": "RESUME", "data": {}}` + "\r\n" + `{"return": {"status": "running"}, "id": 2}`))
	f.Add([]byte(greeting + `{"error": {"class": "GenericError", "desc": "no"}, "id": 1}`))
	f.Add([]byte(greeting + `{"id": null}{"id": -1}`))
	f.Fuzz(func(t *testing.T, said []byte) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		fuzzing.Allocates(t, 8<<20+uint64(len(said))*1000, func() {
			m, err := Open(ctx, recorded{bytes.NewReader(said)}, func(Event) {})
			if err == nil {
				var status struct{ Status string }
				err = m.Execute(ctx, "query-status", nil, &status)
				<-m.Done()
			}
			if ctx.Err() != nil {
				t.Errorf("it does not end: %v", err)
			}
			var refused *Error
			if errors.As(err, &refused) && !json.Valid([]byte(`"`+refused.Command+`"`)) {
				t.Errorf("the error names no command: %v", err)
			}
		})
	})
}
