package main

import (
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Whatever tare waits for, one Ctrl-C ends it: with status 130, or by the signal itself
// where nothing was started, and nothing is left.
func TestCtrlCEndsWhatWaitsForOthers(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args   []string // HERE is the address, or the file, that never answers
		asRoot bool
	}{
		"a registry":           {[]string{"bench", "--env", "native", "--image", "HERE/none:1", "--", "true"}, true},
		"an engine":            {[]string{"doctor"}, false},
		"an engine, in a list": {[]string{"show", "docker"}, false},
		"a log":                {[]string{"import", "--tool", "dd", "--environment", "native", "HERE"}, false},
		"a table":              {[]string{"stats", "HERE", "--baseline", "a"}, false},
		"standard input":       {[]string{"stats", "-", "--baseline", "a"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if c.asRoot && os.Geteuid() != 0 {
				t.Skipf("needs root: the user is %d", os.Geteuid())
			}
			s := session{directory: t.TempDir()}
			p := exec.Command(self, c.args...)
			p.Args[0], p.Dir = asTare, s.directory
			p.Env = []string{"TARE_HOME=home", "TMPDIR=" + s.directory, "PATH=" + os.Getenv("PATH")}
			asked := make(chan error, 1)
			listen := func(network, address string) string {
				l, err := net.Listen(network, address)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { l.Close() })
				go func() {
					for { // whether somebody listens is tried with a connection of its own
						one, err := l.Accept()
						if err == nil {
							t.Cleanup(func() { one.Close() })
							if _, err := one.Read(make([]byte, 1)); err != nil {
								continue
							}
						}
						asked <- err
						return
					}
				}()
				return l.Addr().String()
			}
			here := filepath.Join(s.directory, "file")
			switch kind, _, _ := strings.Cut(name, ","); kind {
			case "a registry":
				here = listen("tcp", "127.0.0.1:0")
			case "an engine":
				p.Env = append(p.Env, "DOCKER_HOST=unix://"+listen("unix", filepath.Join(s.directory, "socket")))
			case "standard input":
				in, err := p.StdinPipe()
				if err != nil {
					t.Fatal(err)
				}
				go func() { // more than a pipe holds: it was read
					_, err := in.Write(make([]byte, 1<<17))
					asked <- err
				}()
			default:
				if err := syscall.Mkfifo(here, 0o600); err != nil {
					t.Fatal(err)
				}
				go func() {
					to, err := os.OpenFile(here, os.O_WRONLY, 0)
					if err == nil {
						t.Cleanup(func() { to.Close() })
						_, err = to.Write(make([]byte, 1<<17))
					}
					asked <- err
				}()
			}
			for i, word := range p.Args {
				p.Args[i] = strings.ReplaceAll(word, "HERE", here)
			}
			errs, err := p.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			defer p.Process.Kill()
			if err := <-asked; err != nil {
				t.Fatal(err)
			}
			interrupt := syscall.SIGINT
			if signal.Ignored(interrupt) { // as what a script runs in the background inherits it
				interrupt = syscall.SIGTERM
			}
			if err := p.Process.Signal(interrupt); err != nil {
				t.Fatal(err)
			}
			said, _ := io.ReadAll(errs)
			_ = p.Wait()
			status := p.ProcessState.Sys().(syscall.WaitStatus)
			if status.ExitStatus() != 130 && status.Signal() != interrupt {
				t.Errorf("status %v: %s", p.ProcessState, said)
			}
			if processes, groups := s.processes(), s.groups(); processes != "" || len(groups) > 0 {
				t.Errorf("left behind: processes %s, cgroups %s", processes, groups)
			}
		})
	}
}
