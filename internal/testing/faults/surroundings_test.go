package faults

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"tare/internal/host/cleanup"
	"tare/internal/testing/freeport"
	"tare/internal/testing/needs"
)

// The disk of the run is full from the second block on. With more room the run goes on.
func TestNoDiskForTheRun(t *testing.T) {
	r := Begin(t, studyOf(t, []string{"oci: {}"}, served, "{order: alternating, rounds: 4, blocks: 3, fresh: block}"))
	if err := os.Mkdir(r.Directory, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tare-test", r.Directory, "tmpfs", 0, "size=16m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Unmount(r.Directory, syscall.MNT_DETACH) })
	filler := filepath.Join(r.Directory, "filler")
	r.Strike(Fault{
		Name: "no disk for the run", Status: 1, Says: `no space left on device\n?(.|\n)*2 trials are kept in .*continue with .tare run --resume`,
		When: func(s *Session) { s.Until(`"tried"`); s.Until(`"tried"`) },
		Inject: func(*Session) func() {
			file, err := os.Create(filler)
			for err == nil {
				_, err = file.Write(make([]byte, 4096))
			}
			file.Close()
			return func() { os.Remove(filler) }
		},
	})
	r.Finish()
}

// Another program answers at the port of the server.
func TestAPortThatIsTaken(t *testing.T) {
	port := fmt.Sprint(freeport.New(t))
	r := Begin(t, studyOf(t, []string{"oci: {}"}, "{"+served+", port: "+port+"}", "{order: interleaved, blocks: 1, fresh: block}"))
	r.Strike(Fault{
		Name: "a port taken", Status: 3, Fails: 1,
		Says: `something answers at 127\.0\.0\.1:` + port + ` before server .* was started: another program or run uses the port; end it, or set another port`,
		When: func(s *Session) { s.Until(`"preparing"`) },
		Inject: func(*Session) func() {
			listener, err := net.Listen("tcp", "127.0.0.1:"+port)
			if err != nil {
				t.Fatal(err)
			}
			go func() {
				for {
					if _, err := listener.Accept(); err != nil {
						return
					}
				}
			}()
			return func() { listener.Close() }
		},
	})
	r.failedWith("native", "something answers")
	r.Finish()
}

// The network between driver and server is cut during a sample: the server's end of its
// link goes down.
func TestTheNetworkIsCutDuringASample(t *testing.T) {
	needs.Program(t, "ip", "nsenter")
	groups := map[string]string{"oci": "-cut-", "docker": inDocker, "podman": "libpod"}
	for _, kind := range []string{"oci", "docker", "podman"} {
		t.Run(kind, func(t *testing.T) {
			if kind != "oci" {
				needsLong(t)
			}
			needsKind(t, kind)
			r := Begin(t, studyOf(t, []string{"cut: {kind: " + kind + "}"}, "{"+served+", seconds: 3, place: {server: apart, driver: apart}}",
				"{order: interleaved, blocks: 2, fresh: trial}"))
			r.Strike(Fault{
				Name: "the network cut between driver and server", Status: 3, Fails: 1,
				Says: `driver .* (was killed at its timeout of 6s|cannot connect: No route to host)`,
				When: func(s *Session) { s.Until(`"trying"`, `"cut"`); s.Find(groups[kind], "clock_gettime") },
				Inject: func(s *Session) func() {
					pid := fmt.Sprint(s.Find(groups[kind], "accept"))
					links, err := exec.Command("nsenter", "--target", pid, "--net", "ip", "-o", "link", "show", "up").Output()
					cut := 0
					for line := range strings.Lines(string(links)) {
						name, _, _ := strings.Cut(strings.Fields(line)[1], "@")
						if name = strings.TrimSuffix(name, ":"); name != "lo" {
							err = exec.Command("nsenter", "--target", pid, "--net", "ip", "link", "set", name, "down").Run()
							cut++
						}
					}
					if err != nil || cut != 1 {
						t.Fatalf("%d links are down: %v: %s", cut, err, links)
					}
					return nil
				},
			})
			r.Finish()
		})
	}
}

// An instance cannot be thawed, since a group above it was frozen by somebody else.
func TestAFrozenInstanceThatDoesNotThaw(t *testing.T) {
	needsLong(t) // the agent of the frozen instance has a minute to answer
	r := Begin(t, studyOf(t, []string{"oci: {}"}, served, "{order: alternating, rounds: 200, blocks: 2, fresh: block}"))
	r.Strike(Fault{
		Name: "a frozen instance whose thaw fails", Status: 3, Fails: 2, Says: `thawing .*: thawing cgroup /`,
		When: func(s *Session) { s.Until(`"estimates"`) },
		Inject: func(s *Session) func() {
			thaw := s.freezeAbove()
			s.Until(`"tried"`) // the instances of this block are killed
			thaw()
			return nil
		},
	})
	r.Finish()
}

// freezeAbove freezes the group of the session's owner, with all its instances, until
// thaw is called.
func (s *Session) freezeAbove() (thaw func()) {
	s.t.Helper()
	owner := cleanup.CgroupRoot() + "/" + s.Run.Home.ids + "*"
	for _, one := range [][3]string{
		{"/sys/fs/cgroup" + owner + "/cgroup.freeze", "1", "0"}, {"/sys/fs/cgroup/unified" + owner + "/cgroup.freeze", "1", "0"},
		{"/sys/fs/cgroup/freezer" + owner + "/freezer.state", "FROZEN", "THAWED"},
	} {
		files, _ := filepath.Glob(one[0])
		if len(files) == 0 {
			continue
		}
		if err := os.WriteFile(files[0], []byte(one[1]), 0); err != nil {
			s.t.Fatal(err)
		}
		return func() { _ = os.WriteFile(files[0], []byte(one[2]), 0) }
	}
	s.t.Fatal("no group of this session was found")
	return nil
}
