package exchanges

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// Sent is a transport that keeps requests, and answers each with success.
type Sent struct{ exchanges []Exchange }

// RoundTrip keeps a request.
func (s *Sent) RoundTrip(r *http.Request) (*http.Response, error) {
	e := Exchange{Request: r.Method + " " + r.URL.Path}
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body.Close()
		e.Body = body
	}
	s.exchanges = append(s.exchanges, e)
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader("{}")), Header: http.Header{}, Request: r}, nil
}

// Check checks that the recorded session consists of these requests, and that the
// real program accepted each of them.
func (s *Sent) Check(t *testing.T, file, session string) {
	t.Helper()
	r, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	with := r.Session(session)
	if with == nil {
		t.Fatalf("%s has no session %q", file, session)
	}
	if os.Getenv(Renew) != "" {
		if lines(with.Exchanges) == lines(s.exchanges) {
			return // with their answers
		}
		if with.Exchanges = s.exchanges; r.Write(file) != nil {
			t.Fatal(file)
		}
	}
	if want, got := lines(with.Exchanges), lines(s.exchanges); got != want {
		t.Errorf("%s: what is sent differs from what %s %s was asked (%s=1 writes it, and make test-vmm then the answers):\n%s\nrecorded:\n%s",
			session, r.Program, r.Version, Renew, got, want)
	}
	for _, e := range with.Exchanges {
		if e.Status/100 != 2 {
			t.Errorf("%s: %s %s answered %s %s with %d %s", session, r.Program, r.Version, e.Request, e.Body, e.Status, e.Answer)
		}
	}
}

// lines lists requests, with bodies in the same form.
func lines(list []Exchange) string {
	var text strings.Builder
	for _, e := range list {
		var body any
		_ = json.Unmarshal(e.Body, &body) // nil if there is none
		data, _ := json.Marshal(body)
		fmt.Fprintf(&text, "  %s %s\n", e.Request, data)
	}
	return text.String()
}
