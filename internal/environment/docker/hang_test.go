package docker

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tare/internal/environment"
	"tare/internal/environment/support/console"
	"tare/internal/linux/cgroup"
)

// hanging is an engine that answers no request whose path has these words, until the test
// ends. Each of these requests is sent to asked.
func hanging(t *testing.T, words string) (host string, asked chan string) {
	t.Helper()
	host, asked = filepath.Join(t.TempDir(), "socket"), make(chan string, 99)
	listener, err := net.Listen("unix", host)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, words) {
			asked <- r.URL.Path
			<-over
		}
		w.Header().Set("Api-Version", "1.50")
	})}
	ended := make(chan struct{})
	go func() { _ = server.Serve(listener); close(ended) }()
	t.Cleanup(func() { close(over); server.Close(); <-ended })
	return "unix://" + host, asked
}

// An engine that accepts requests and does not answer them is waited for as long as
// documented, and the error says what it was asked for.
func TestAnEngineThatHangsIsNotWaitedForForever(t *testing.T) {
	was := requestTimeout
	requestTimeout = 50 * time.Millisecond
	defer func() { requestTimeout = was }()
	for words, want := range map[string]string{
		"/_ping":       "greeting it",
		"/info":        "requesting its info",
		"/attach":      "attaching to the container",
		"/json":        "inspecting the container",
		"/containers/": "removing container x",
	} {
		t.Run(want, func(t *testing.T) {
			host, _ := hanging(t, words)
			e, err := theDocker.at(host)
			if err != nil {
				t.Fatal(err)
			}
			defer e.api.Close()
			said := ""
			switch words {
			case "/_ping", "/info":
				f := theDocker.answers(t.Context(), host)
				said = f.Reason
				if f.State != environment.Missing || f.Fix.String() != "look at its log, and restart it" {
					t.Errorf("%+v", f)
				}
			case "/attach":
				_, err = e.attach(t.Context(), "x")
			case "/json":
				err = (&instance{engine: e, id: "x"}).inspect(t.Context(), false, cgroup.Limits{})
			default:
				err = e.removeContainer(t.Context(), "x")
			}
			if err != nil {
				said = err.Error()
			}
			want := "Docker daemon at " + host + ", " + want + ": it accepted the request and did not answer in time; to fix it: look at its log, and restart it"
			if said != want {
				t.Errorf("%s, not %s", said, want)
			}
		})
	}
}

// Ctrl-C ends the wait for an engine that does not let a container be attached to.
func TestAnAttachIsCalledOff(t *testing.T) {
	host, asked := hanging(t, "/attach")
	c, err := newContainers(theDocker, Options{Socket: host, Network: "none", Data: "bind", Log: "none", Seccomp: "default"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.engine.api.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-asked; cancel() }()
	if _, _, err := c.startAgent(ctx, &instance{engine: c.engine, id: "x"}, console.New(nil)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
