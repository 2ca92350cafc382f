package faults

import (
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// What tare is stopped in is made again, and that is said.
func TestAStopOfTareIsNoTimeOfTheWorkload(t *testing.T) {
	var driver int
	Fault{Name: "SIGSTOP and SIGCONT of tare, in a sample", Study: "processes.yaml", Args: []string{"--only", "native,docker"},
		When: func(s *Session) { driver = s.Find(inDocker, "fault-driver") },
		Inject: func(s *Session) func() {
			s.Signal(syscall.SIGSTOP)
			s.WaitFor("the end of the driver", func() bool { return processAt(fmt.Sprint("/proc/", driver)).line == "" })
			s.Signal(syscall.SIGCONT)
			return nil
		},
		Says: `"noted".* was stopped \(SIGSTOP or Ctrl-Z\) during block 1 of work: what was under way is discarded and made again[\s\S]* made it again`,
	}.Test(t)
}

const resumable = `continue with .tare run --resume `

// The second signal ends tare at once, and the next command removes what is left; the
// same one twice at a time, as of timeout(1), is one.
func TestASecondSignalEndsTareAtOnce(t *testing.T) {
	sampling := func(s *Session) { s.Find(inDocker, "fault-driver") }
	Fault{Name: "SIGTERM twice at a time", Study: "processes.yaml", Args: []string{"--only", "native,docker"}, When: sampling,
		Inject: func(s *Session) func() {
			s.Signal(syscall.SIGTERM)
			s.Signal(syscall.SIGTERM)
			return nil
		}, Status: 130, Says: resumable}.Test(t)
	// The first one is followed by a teardown of two seconds.
	Fault{Name: "SIGINT, and a second signal", Study: "phases.yaml", Args: []string{"--scale", "teardown"}, When: func(s *Session) { s.Find(inNative, "fault-driver") },
		Inject: func(s *Session) func() {
			s.Signal(syscall.SIGINT)
			s.Find(inNative, "fault-teardown")
			s.WaitFor("the end by a second signal", func() bool {
				s.Cmd.Process.Signal(syscall.SIGTERM) // where tests ignore SIGINT, so does tare after the first one
				return processAt(fmt.Sprint("/proc/", s.Cmd.Process.Pid)).line == ""
			})
			return nil
		}, Status: Killed}.Test(t)
}

// A run that is told to end does so in order in each of its phases.
func TestEveryPhaseEndsInOrder(t *testing.T) {
	command := func(name string) func(*Session) {
		return func(s *Session) { s.Find(inNative, "fault-"+name) }
	}
	for _, c := range []struct {
		phase, scale string
		when         func(*Session)
	}{
		{"the sweep", "", func(s *Session) { s.Until(`"opened"`) }},
		{"the preparation of the image", "", func(s *Session) { s.Until(`"preparing"`) }},
		{"the start of an instance", "", func(s *Session) {
			s.WaitFor("an instance's directory", func() bool {
				found, _ := filepath.Glob(filepath.Join(s.Run.Home.Directory, "work", "*", "b1-*"))
				return len(found) > 0
			})
		}},
		{"begin", "begin", command("begin")},
		{"setup", "setup", command("setup")},
		{"the start of a server", "server", command("server")},
		{"warm-up", "warmup", command("warmup")},
		{"the search for the amount of work", "driver", command("driver")},
		{"the samples", "samples", func(s *Session) { s.Until(`"estimates"`); s.Find(inNative, "fault-driver") }},
		{"teardown", "teardown", command("teardown")},
	} {
		t.Run(c.phase, func(t *testing.T) {
			if !slices.Contains([]string{"the preparation of the image", "setup", "the samples"}, c.phase) {
				needsLong(t)
			}
			var args []string
			if c.scale != "" {
				args = []string{"--scale", c.scale}
			}
			Fault{Name: "SIGTERM in " + c.phase, Study: "phases.yaml", Args: args, When: c.when,
				Inject: func(s *Session) func() { s.Signal(syscall.SIGTERM); return nil },
				Status: 130, Says: resumable}.Test(t)
		})
	}
}

// A step that does not end before its timeout fails its trials, with the step and the
// timeout.
func TestATimeoutInEveryPhaseIsSaid(t *testing.T) {
	for step, says := range map[string]string{
		"begin": `begin command .* was killed at its timeout of 2s`, "setup": `setup command .* was killed at its timeout of 2s`,
		"server": `did not answer within 2s`, "warmup": `warmup command .* was killed at its timeout of 2s`, "driver": `driver .* was killed at its timeout of 2s`,
		"teardown": `teardown command .* was killed at its timeout of 2s`,
	} {
		status, fails := 3, 2
		if step == "teardown" { // a warning: the samples are taken
			status, fails = 0, 0
		}
		t.Run(step, func(t *testing.T) {
			if step != "driver" {
				needsLong(t)
			}
			Fault{Name: "a timeout in " + step, Study: "limited.yaml", Args: []string{"--scale", step},
				When: func(*Session) {}, Inject: func(*Session) func() { return nil }, Status: status, Says: says, Fails: fails}.Test(t)
		})
	}
}

// A guest that does not start in time fails its trial alone, with the option that sets the
// time.
func TestATimeoutOfAStartIsSaid(t *testing.T) {
	needsLong(t) // a guest is emulated
	needsKind(t, "qemu")
	r := Begin(t, studyOf(t, []string{"vm: {kind: qemu, accel: tcg, data: 64MiB, memory: 256MiB, start_timeout: 1s}"}, "use: %s/work.yaml", "{order: interleaved, blocks: 1}"))
	r.Strike(Fault{Name: "a timeout in the start of an instance", Status: 3, Fails: 1, When: now, Inject: nothing,
		Says: `its agent was not ready within start_timeout, 1s`})
	r.failedWith("vm", "start_timeout")
	r.Finish()
}
