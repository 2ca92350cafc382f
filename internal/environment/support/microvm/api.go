package microvm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"tare/internal/base/bounded"
	"tare/internal/environment/support/vmm"
)

// socketDir gives the files of a directory a short path through an open
// descriptor, since the path of a unix socket has at most 107 characters.
type socketDir struct{ dir *os.File }

func openSocketDir(path string) (*socketDir, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening a guest's directory: %w", err)
	}
	return &socketDir{f}, nil
}

func (p *socketDir) path(name string) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", p.dir.Fd(), name)
}

func (p *socketDir) dial(ctx context.Context, name string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", p.path(name))
}

// API is a client of a VMM's HTTP API at a unix socket.
type API struct {
	client    *http.Client
	directory string // of the VMM
}

func dialAPI(p *socketDir) *API {
	return &API{&http.Client{Transport: &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx, Socket) },
		MaxConnsPerHost: 1,
	}}, p.dir.Name()}
}

func (a *API) close() { a.client.CloseIdleConnections() }

// APIError is an error response of the API.
type APIError struct {
	Request string // "PUT /drives/root"
	Status  int
	Message string
}

func (r *APIError) Error() string {
	return fmt.Sprintf("%s was refused (%d %s): %s", r.Request, r.Status, http.StatusText(r.Status), r.Message)
}

// Refused makes it a vmm.Refusal.
func (r *APIError) Refused() {}

// Request is one request of the API; Body is nil for none.
type Request struct {
	Method string
	Path   string
	Body   any
}

// Put is a request that sends a body.
func Put(path string, body any) Request { return Request{http.MethodPut, path, body} }

// Send sends requests, one after the other.
func (a *API) Send(ctx context.Context, requests ...Request) error {
	for _, r := range requests {
		if err := a.do(ctx, r.Method, r.Path, r.Body, nil); err != nil {
			return err
		}
	}
	return nil
}

// Get decodes a response; result may be nil.
func (a *API) Get(ctx context.Context, path string, result any) error {
	return a.do(ctx, http.MethodGet, path, nil, result)
}

func (a *API) do(ctx context.Context, method, path string, body, result any) error {
	what := method + " " + path
	var payload io.Reader
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		payload = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, payload)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	answer, err := a.client.Do(request)
	if err != nil {
		return fmt.Errorf("requesting %s from the VMM: %w", what, err)
	}
	defer answer.Body.Close()
	text, err := bounded.ReadAll(answer.Body, bounded.Answer)
	if err != nil {
		return fmt.Errorf("reading the VMM's response to %s: %w", what, err)
	}
	if show, ok := ctx.Value(observerKey{}).(func(Exchange)); ok {
		show(Exchange{a.directory, what, data, answer.StatusCode, text})
	}
	if answer.StatusCode/100 != 2 {
		return &APIError{Request: what, Status: answer.StatusCode, Message: faultMessage(text)}
	}
	if result != nil {
		if err := json.Unmarshal(text, result); err != nil {
			return fmt.Errorf("decoding the VMM's response to %s, %q: %w", what, text, err)
		}
	}
	return nil
}

// faultMessage extracts the message of an error response: {"fault_message": ...}, a
// list of causes, or plain text.
func faultMessage(body []byte) string {
	var object struct {
		Message string `json:"fault_message"`
	}
	if json.Unmarshal(body, &object) == nil && object.Message != "" {
		return object.Message
	}
	var causes []string
	if json.Unmarshal(body, &causes) == nil && len(causes) > 0 {
		return strings.Join(causes, ": ")
	}
	if text := strings.TrimSpace(string(body)); text != "" {
		return text
	}
	return "no reason given"
}

// Exchange is what a VMM was asked and answered. Its directory is that in which it runs.
type Exchange struct {
	Directory, Request string
	Body               []byte
	Status             int
	Answer             []byte
}

type observerKey struct{}

// Observe returns a context whose requests are shown to a function, as tests record them.
func Observe(ctx context.Context, show func(Exchange)) context.Context {
	return context.WithValue(ctx, observerKey{}, show)
}

// await waits until the API answers, or the VMM exits.
func (a *API) await(ctx context.Context, p *vmm.Process, ping string) error {
	const interval = time.Millisecond
	for {
		err := a.Get(ctx, ping, nil)
		var refused *APIError
		if err == nil || errors.As(err, &refused) {
			return err
		}
		select {
		case <-time.After(interval):
		case <-p.Exited():
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
