package microvm

import (
	"bufio"
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	"tare/internal/testing/fuzzing"
)

// recorded answers each request with the same bytes.
type recorded []byte

func (r recorded) RoundTrip(request *http.Request) (*http.Response, error) {
	return http.ReadResponse(bufio.NewReader(bytes.NewReader(r)), request)
}

// FuzzAnswer: whatever a VMM answers is its refusal with a reason, a result, or an error
// that names the request.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n{\"state\":\"x\"}"))
	f.Add([]byte("HTTP/1.1 400 Bad Request\r\n\r\n{\"fault_message\": \"no\"}"))
	f.Add([]byte("HTTP/1.1 500 Internal\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n[\"a\"\r\n2\r\n ]\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, answer []byte) {
		a := &API{client: &http.Client{Transport: recorded(answer)}}
		fuzzing.Allocates(t, 8<<20+uint64(len(answer))*1000, func() {
			var state struct{ State string }
			err := a.Get(t.Context(), "/info", &state)
			var refused *APIError
			if errors.As(err, &refused) && refused.Message == "" || err != nil && !strings.Contains(err.Error(), "GET /info") {
				t.Errorf("it says %v", err)
			}
		})
	})
}
