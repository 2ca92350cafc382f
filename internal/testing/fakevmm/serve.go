package fakevmm

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
)

// Serve answers requests at a unix socket, one at a time as the VMMs do, until
// the program exits. An answer of nil has no body. After each answer was sent it
// calls a function, which may exit.
func Serve(socket string, handle func(method, path string, body []byte) (status int, answer any), sent func()) error {
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
		var data []byte
		if answer != nil {
			if data, err = json.Marshal(answer); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
		}
		if status != http.StatusNoContent {
			w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(data)
		_ = http.NewResponseController(w).Flush() // else it is sent after this function
		sent()
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
