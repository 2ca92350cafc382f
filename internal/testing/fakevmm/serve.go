package fakevmm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Serve answers requests at a unix socket, one at a time as the VMMs do, until
// the program exits. An answer of nil has no body.
func Serve(socket string, handle func(method, path string, body []byte) (status int, answer any)) error {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return err
	}
	turn := make(chan struct{}, 1)
	return http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		turn <- struct{}{}
		defer func() { <-turn }()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		status, answer := handle(r.Method, r.URL.Path, body)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if answer != nil {
			_ = json.NewEncoder(w).Encode(answer)
		}
	}))
}

// The rate limiters of both VMMs' APIs.
type (
	// Bucket is the token bucket of one limit.
	Bucket struct {
		Size   int64 `json:"size" need:"yes"`
		Burst  int64 `json:"one_time_burst,omitempty"`
		Refill int64 `json:"refill_time" need:"yes"`
	}
	// Limiter limits bandwidth and operations.
	Limiter struct {
		Bandwidth *Bucket `json:"bandwidth,omitempty"`
		Ops       *Bucket `json:"ops,omitempty"`
	}
)

// Rates returns the limits per second, 0 for none.
func (l *Limiter) Rates() (bytes, ops int64) {
	rate := func(b *Bucket) int64 {
		if b == nil || b.Refill == 0 {
			return 0
		}
		return b.Size * 1000 / b.Refill
	}
	if l == nil {
		return 0, 0
	}
	return rate(l.Bandwidth), rate(l.Ops)
}

var unknown = regexp.MustCompile(`unknown field "(.*)"`)

// Decode decodes a body as strictly as the VMMs do: an unknown field is an error,
// and so are the absence of a field with the tag need, and another value than
// those of the tag one. The errors have the words of serde, the VMMs' decoder.
func Decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		if match := unknown.FindStringSubmatch(err.Error()); match != nil {
			return errors.New("unknown field `" + match[1] + "`, expected one of the documented ones at line 1 column 1")
		}
		return err
	}
	return check(body, reflect.ValueOf(into))
}

// check checks the tags of a struct, and of those in it.
func check(body []byte, v reflect.Value) error {
	switch v = reflect.Indirect(v); v.Kind() {
	case reflect.Slice:
		var elements []json.RawMessage
		_ = json.Unmarshal(body, &elements) // Decode has read it
		for i, element := range elements {
			if err := check(element, v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		var given map[string]json.RawMessage
		_ = json.Unmarshal(body, &given)
		for i := range v.NumField() {
			tag := v.Type().Field(i).Tag
			name, _, _ := strings.Cut(tag.Get("json"), ",")
			text, there := given[name]
			allowed := strings.Fields(tag.Get("one"))
			switch {
			case !there && tag.Get("need") != "":
				return fmt.Errorf("missing field `%s` at line 1 column 1", name)
			case there && len(allowed) > 0 && !slices.Contains(allowed, v.Field(i).String()):
				return fmt.Errorf("unknown variant `%s`, expected one of `%s` at line 1 column 1", v.Field(i), strings.Join(allowed, "`, `"))
			case there:
				if err := check(text, v.Field(i)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
