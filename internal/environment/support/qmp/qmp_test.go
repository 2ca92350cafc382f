package qmp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

const greeting = `{"QMP": {"version": {"qemu": {"micro": 22, "minor": 2, "major": 7}, "package": "Debian"}, "capabilities": ["oob"]}}`

// script plays QEMU: it says the first lines, and for every line it is sent,
// the lines that answer returns.
func script(t *testing.T, first []string, answer func(line string) []string) net.Conn {
	t.Helper()
	ours, peer := net.Pipe()
	var done sync.WaitGroup
	done.Go(func() {
		defer peer.Close()
		for _, line := range first {
			if _, err := fmt.Fprintln(peer, line); err != nil {
				return
			}
		}
		scanner := bufio.NewScanner(peer)
		for scanner.Scan() {
			lines := answer(scanner.Text())
			if lines == nil {
				return
			}
			for _, line := range lines {
				if _, err := fmt.Fprintln(peer, line); err != nil {
					return
				}
			}
		}
	})
	t.Cleanup(func() { ours.Close(); done.Wait() })
	return ours
}

// id finds the id of a command, to answer it.
func id(line string) string {
	_, after, _ := strings.Cut(line, `"id":`)
	return strings.TrimRight(after, "}")
}

func polite(line string) []string { return []string{`{"return": {}, "id": ` + id(line) + `}`} }

func testContext(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func TestAMonitorGreetsNegotiatesAndExecutes(t *testing.T) {
	var received []string
	conn := script(t, []string{greeting}, func(line string) []string {
		received = append(received, line)
		if strings.Contains(line, "query-status") {
			return []string{
				`{"event": "RESUME", "timestamp": {"seconds": 1, "microseconds": 2}}`,
				`{"return": {"status": "running", "running": true}, "id": ` + id(line) + `}`,
			}
		}
		return polite(line)
	})
	events := make(chan Event, 1)
	m, err := Open(testContext(t), conn, func(e Event) { events <- e })
	if err != nil {
		t.Fatal(err)
	}
	var status struct{ Status string }
	if err := m.Execute(testContext(t), "query-status", map[string]int{"x": 1}, &status); err != nil || status.Status != "running" {
		t.Errorf("status %+v, %v", status, err)
	}
	if e := <-events; e.Name != "RESUME" {
		t.Errorf("event %+v", e)
	}
	want := `{"execute":"qmp_capabilities","id":1}|{"execute":"query-status","arguments":{"x":1},"id":2}`
	if got := strings.Join(received, "|"); got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
}

func TestARefusalNamesTheCommandAndTheReason(t *testing.T) {
	conn := script(t, []string{greeting}, func(line string) []string {
		if strings.Contains(line, "qmp_capabilities") {
			return polite(line)
		}
		return []string{`{"error": {"class": "CommandNotFound", "desc": "The command system_flatten has not been found"}, "id": ` + id(line) + `}`}
	})
	m, err := Open(testContext(t), conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = m.Execute(testContext(t), "system_flatten", nil, nil)
	var refusal *Error
	if !errors.As(err, &refusal) || refusal.Class != "CommandNotFound" || !strings.Contains(err.Error(), "system_flatten has not been found") {
		t.Errorf("got %v", err)
	}
}

func TestResponsesAreMatchedToRequestsInAnyOrder(t *testing.T) {
	var held []string
	conn := script(t, []string{greeting}, func(line string) []string {
		if strings.Contains(line, "qmp_capabilities") {
			return polite(line)
		}
		name := "first"
		if strings.Contains(line, "second") {
			name = "second"
		}
		held = append([]string{fmt.Sprintf(`{"return": %q, "id": %s}`, name, id(line))}, held...)
		if len(held) < 2 {
			return []string{}
		}
		return held
	})
	m, err := Open(testContext(t), conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for _, name := range []string{"first", "second"} {
		all.Go(func() {
			var got string
			if err := m.Execute(testContext(t), name, nil, &got); err != nil || got != name {
				t.Errorf("%s was answered %q, %v", name, got, err)
			}
		})
	}
	all.Wait()
}

func TestOpeningFailsClearly(t *testing.T) {
	for _, c := range []struct {
		name, want string
		first      []string
		answer     func(string) []string
	}{
		{"another protocol", "is not a greeting", []string{`{"hello": "world"}`}, polite},
		{"no JSON", "invalid character", []string{`SSH-2.0-OpenSSH_9`}, polite},
		{"an end after the greeting", "connection was closed", []string{greeting}, func(string) []string { return nil }},
		{"refused negotiation", "qmp_capabilities", []string{greeting}, func(line string) []string {
			return []string{`{"error": {"class": "GenericError", "desc": "no"}, "id": ` + id(line) + `}`}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(testContext(t), script(t, c.first, c.answer), nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want it to say %q", err, c.want)
			}
		})
	}
}

func TestAQEMUThatIsSilentDoesNotHoldTheCaller(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	ours, peer := net.Pipe() // nobody reads or writes at the other end
	defer peer.Close()
	if _, err := Open(ctx, ours, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without a greeting: %v", err)
	}

	conn := script(t, []string{greeting}, func(line string) []string {
		if strings.Contains(line, "qmp_capabilities") {
			return polite(line)
		}
		return []string{}
	})
	m, err := Open(testContext(t), conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := m.Execute(ctx, "query-status", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("without an answer: %v", err)
	}
}

func TestACommandFailsWhenQEMUDiesMeanwhile(t *testing.T) {
	conn := script(t, []string{greeting}, func(line string) []string {
		if strings.Contains(line, "qmp_capabilities") {
			return polite(line)
		}
		return nil
	})
	m, err := Open(testContext(t), conn, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Execute(testContext(t), "quit", nil, nil); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("got %v", err)
	}
	<-m.Done()
	if err := m.Execute(testContext(t), "quit", nil, nil); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("afterwards: %v", err)
	}
}

func TestAResponseReceivedBeforeTheConnectionIsLostCounts(t *testing.T) {
	m := &Monitor{done: make(chan struct{})}
	m.lose(io.EOF)
	for range 100 {
		answer := make(chan message, 1)
		answer <- message{Return: json.RawMessage("{}")}
		if _, err := m.await(t.Context(), answer); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := m.await(t.Context(), nil); !errors.Is(err, m.lost) {
		t.Errorf("without an answer: %v", err)
	}
}
