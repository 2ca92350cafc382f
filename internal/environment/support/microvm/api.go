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

	"tare/internal/environment/support/vmm"
)

// place is a folder whose files have a short path, whatever the folder's own
// is: a unix socket's path has room for 107 characters.
type place struct{ folder *os.File }

func openPlace(folder string) (*place, error) {
	f, err := os.Open(folder)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of a guest: %w", err)
	}
	return &place{f}, nil
}

func (p *place) path(name string) string {
	return fmt.Sprintf("/proc/self/fd/%d/%s", p.folder.Fd(), name)
}

func (p *place) dial(ctx context.Context, name string) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", p.path(name))
}

// API speaks HTTP to a VMM's socket.
type API struct {
	place  *place
	client *http.Client
}

func newAPI(p *place) *API {
	return &API{p, &http.Client{Transport: &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx, Socket) },
		MaxConnsPerHost: 1,
	}}}
}

func (a *API) close() { a.client.CloseIdleConnections() }

// APIError is what a VMM answers to a request that it does not carry out.
type APIError struct {
	Request string // "PUT /drives/root"
	Status  int
	Message string
}

func (r *APIError) Error() string {
	return fmt.Sprintf("%s was refused (%d %s): %s", r.Request, r.Status, http.StatusText(r.Status), r.Message)
}

// Put sends a body, or none for nil.
func (a *API) Put(ctx context.Context, path string, body any) error {
	return a.do(ctx, http.MethodPut, path, body, nil)
}

// Patch changes a part.
func (a *API) Patch(ctx context.Context, path string, body any) error {
	return a.do(ctx, http.MethodPatch, path, body, nil)
}

// Get reads an answer; result may be nil.
func (a *API) Get(ctx context.Context, path string, result any) error {
	return a.do(ctx, http.MethodGet, path, nil, result)
}

// longestAnswer is more than any of these APIs says.
const longestAnswer = 1 << 20

func (a *API) do(ctx context.Context, method, path string, body, result any) error {
	what := method + " " + path
	var payload io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
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
		return fmt.Errorf("asking the VMM, %s: %w", what, err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(io.LimitReader(answer.Body, longestAnswer))
	if err != nil {
		return fmt.Errorf("reading the VMM's answer to %s: %w", what, err)
	}
	if answer.StatusCode/100 != 2 {
		return &APIError{Request: what, Status: answer.StatusCode, Message: fault(said)}
	}
	if result != nil {
		if err := json.Unmarshal(said, result); err != nil {
			return fmt.Errorf("the VMM answered %s with %q: %w", what, said, err)
		}
	}
	return nil
}

// fault takes the sentence out of a refusal: {"fault_message": "..."}, a list
// of causes, or plain text.
func fault(body []byte) string {
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

// await returns when the API answers, or with the reason why it never will.
func (a *API) await(ctx context.Context, p *vmm.Process, ping string) error {
	const between = time.Millisecond // between two looks at a socket that nobody announces
	for {
		err := a.Get(ctx, ping, nil)
		var refused *APIError
		if err == nil || errors.As(err, &refused) {
			return err
		}
		select {
		case <-time.After(between):
		case <-p.Exited():
			return err
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
