package faults

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"tare/internal/testing/needs"
)

// daemon is a Docker daemon of the test's own: others use the machine's.
type daemon struct {
	t         *testing.T
	directory string
	log       bytes.Buffer
	command   *exec.Cmd
}

// newDaemon makes a daemon, which is started by start, and ended at the end of the test.
func newDaemon(t *testing.T) *daemon {
	t.Helper()
	needs.Root(t)
	needs.Program(t, "dockerd", "docker")
	directory, err := os.MkdirTemp("", "tare-dockerd-") // short: a socket's path has 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	d := &daemon{t: t, directory: directory}
	t.Cleanup(func() {
		d.stop()
		mounts, _ := filepath.Glob(filepath.Join(directory, "exec/netns/*"))
		for _, path := range append(mounts, filepath.Join(directory, "data/overlay2"), filepath.Join(directory, "data")) {
			_ = syscall.Unmount(path, syscall.MNT_DETACH)
		}
		if err := os.RemoveAll(directory); err != nil {
			t.Error(err)
		}
	})
	d.start()
	return d
}

func (d *daemon) socket() string { return filepath.Join(d.directory, "docker.sock") }

// start returns when the daemon answers.
func (d *daemon) start() {
	d.t.Helper()
	in := func(name string) string { return filepath.Join(d.directory, name) }
	d.command = exec.Command("dockerd", "--host", "unix://"+d.socket(), "--data-root", in("data"), "--exec-root", in("exec"), "--pidfile", in("pid"),
		"--config-file", in("none.json"), "--bridge", "none", "--iptables=false", "--ip6tables=false")
	if err := os.WriteFile(in("none.json"), []byte("{}"), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.command.Stdout, d.command.Stderr = &d.log, &d.log
	// Without a bridge dockerd removes docker0, which is another daemon's.
	d.command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if err := d.command.Start(); err != nil {
		d.t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); exec.Command("docker", "--host", "unix://"+d.socket(), "version").Run() != nil; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.stop()
			d.t.Fatalf("dockerd did not answer: %s", d.log.String())
		}
	}
}

// stop ends the daemon in order, as a package upgrade does.
func (d *daemon) stop() {
	if d.command == nil {
		return
	}
	_ = d.command.Process.Signal(syscall.SIGTERM)
	_ = d.command.Wait()
	d.command = nil
}

// proxy stands before the socket of a daemon.
type proxy struct {
	socket string
	slow   atomic.Int64 // how long a request waits
	broken atomic.Bool  // each request is answered with status 500
	asked  atomic.Int64 // requests that were answered so, or never
	hangs  atomic.Value // a request for a path that ends so is never answered
}

func newProxy(t *testing.T, d *daemon) *proxy {
	t.Helper()
	p := &proxy{socket: filepath.Join(d.directory, "proxy.sock")}
	p.hangs.Store("nothing")
	listener, err := net.Listen("unix", p.socket)
	if err != nil {
		t.Fatal(err)
	}
	behind := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", d.socket())
	}}
	pass := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: "docker"}) },
		Transport: behind, FlushInterval: -1,
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p.broken.Load() {
			p.asked.Add(1)
			http.Error(w, `{"message":"the daemon has lost its database"}`, http.StatusInternalServerError)
			return
		}
		if strings.HasSuffix(r.URL.Path, p.hangs.Load().(string)) {
			p.asked.Add(1)
			<-r.Context().Done()
			return
		}
		select {
		case <-time.After(time.Duration(p.slow.Load())):
			pass.ServeHTTP(w, r)
		case <-r.Context().Done():
		}
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() {
		server.Close()
		behind.CloseIdleConnections()
	})
	return p
}

// The daemon of the containers is stopped and started, slow, hangs, or answers 500.
func TestTheEngineFails(t *testing.T) {
	d := newDaemon(t)
	study := func(t *testing.T, rounds, blocks string) string {
		return studyOf(t, []string{"docker: {network: none}"}, "use: %s/work.yaml", "{order: alternating, rounds: "+rounds+", blocks: "+blocks+", fresh: block}")
	}
	t.Run("stopped and started", func(t *testing.T) {
		needsLong(t)
		t.Setenv("DOCKER_HOST", "unix://"+d.socket())
		r := Begin(t, study(t, "200", "2"))
		r.Strike(Fault{
			Name: "dockerd stopped and started in the middle", Status: 3, Fails: -1, Says: `round \d+: .*the agent is gone`,
			When: func(s *Session) { s.Until(`"estimates"`) },
			Inject: func(*Session) func() {
				d.stop()
				d.start()
				return nil
			},
		})
		r.Finish()
	})
	t.Run("slow", func(t *testing.T) {
		p := newProxy(t, d)
		t.Setenv("DOCKER_HOST", "unix://"+p.socket)
		r := Begin(t, study(t, "6", "2"))
		r.Strike(Fault{
			Name: "dockerd that answers slowly",
			When: func(s *Session) { s.Until(`"tried"`); s.Until(`"tried"`) },
			Inject: func(*Session) func() {
				p.slow.Store(int64(time.Second))
				return func() { p.slow.Store(0) }
			},
		})
		r.Finish()
	})
	for request, says := range map[string]string{"/create": "creating the container", "/start": "starting the container"} {
		t.Run("hanging in "+request, func(t *testing.T) {
			needsLong(t) // for half a minute, or two
			p := newProxy(t, d)
			t.Setenv("DOCKER_HOST", "unix://"+p.socket)
			r := Begin(t, study(t, "6", "2"))
			r.Strike(Fault{
				Name: "dockerd that hangs in " + request, Status: 3, Fails: 1,
				Says: says + ": it accepted the request and did not answer in time; to fix it: look at its log, and restart it",
				When: func(s *Session) { s.Until(`"tried"`); s.Until(`"tried"`) },
				Inject: func(*Session) func() {
					p.hangs.Store(request)
					return func() { p.hangs.Store("nothing") }
				},
			})
			if p.asked.Load() == 0 {
				t.Error("no request hung")
			}
			r.Finish()
		})
	}
	t.Run("broken", func(t *testing.T) {
		p := newProxy(t, d)
		t.Setenv("DOCKER_HOST", "unix://"+p.socket)
		r := Begin(t, study(t, "6", "3"))
		r.Strike(Fault{
			Name: "dockerd that answers 500", Status: 1, Says: `the daemon has lost its database(.|\n)*2 trials are kept in .*continue with .tare run --resume`,
			When: func(s *Session) { s.Until(`"tried"`); s.Until(`"tried"`) },
			Inject: func(s *Session) func() {
				p.broken.Store(true)
				return func() { // the next command removes what could not be removed
					p.broken.Store(false)
					s.Run.Clean("dockerd that answers 500")
				}
			},
		})
		if p.asked.Load() == 0 {
			t.Error("no request was answered with 500")
		}
		r.Finish()
	})
}
