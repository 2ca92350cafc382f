package faults

import (
	"fmt"
	"testing"
)

// The cgroups of instances.
const (
	inNative = `/b\d+-native-`
	inOCI    = `/b\d+-oci-`
	inDocker = `/[0-9a-f]{64}\s`
	anywhere = ``
)

// A process that is killed while samples alternate fails the trial of its environment
// alone, with the reason.
func TestAProcessThatIsKilledFailsItsTrialAlone(t *testing.T) {
	driving := func(where string) func(*Session) {
		return func(s *Session) { s.Find(where, "fault-driver") }
	}
	killing := func(find func(*Session) int) func(*Session) func() {
		return func(s *Session) func() { s.Kill(find(s)); return nil }
	}
	at := func(where, what string) func(*Session) int {
		return func(s *Session) int { return s.Find(where, what) }
	}
	agent := func(where string) func(*Session) int { // the parent of all commands
		return func(s *Session) int { return processAt(fmt.Sprint("/proc/", s.Find(where, "fault-server"))).parent }
	}
	const unnoticed = `` // it only waits for what goes on without it
	const gone = `the agent is gone`
	for _, c := range []struct {
		name, study, only string
		short             bool // also without -long
		when              func(*Session)
		find              func(*Session) int
		says              string
	}{
		{name: "the driver, in native", short: true, only: "native,oci", when: driving(inNative), find: at(inNative, "fault-driver"), says: `driver .* was ended by SIGKILL`},
		{name: "the driver, in docker", only: "native,docker", when: driving(inDocker), find: at(inDocker, "fault-driver"), says: `driver .* was ended by SIGKILL`},
		{name: "the server, in native", only: "native,oci", when: driving(inNative), find: at(inNative, "fault-server"), says: `server .*SIGKILL`},
		{name: "the server, in docker", short: true, only: "native,docker", when: driving(inDocker), find: at(inDocker, "fault-server"), says: `server .*SIGKILL`},
		{name: "the agent, in native", only: "native,oci", when: driving(inNative), find: agent(inNative), says: gone},
		{name: "the agent, in oci", short: true, only: "native,oci", when: driving(inOCI), find: agent(inOCI), says: gone},
		{name: "the agent, in docker", only: "native,docker", when: driving(inDocker), find: agent(inDocker), says: gone},
		{name: "the shim of an OCI runtime", only: "native,oci", when: driving(inOCI), find: at(anywhere, `tare-agent-\S* shim`), says: unnoticed},
		{name: "the shim of a container", short: true, only: "native,docker", when: driving(inDocker),
			find: func(s *Session) int { return s.Above(s.Find(inDocker, "fault-server"), "containerd-shim") }, says: gone},
		{name: "the sandbox of gVisor", only: "native,gvisor", when: driving(inNative),
			find: at(anywhere, "runsc-sandbox"), says: gone},
		{name: "QEMU", study: "guest.yaml", when: driving(inNative), find: at(anywhere, "qemu-system"), says: gone},
	} {
		t.Run(c.name, func(t *testing.T) {
			if !c.short {
				needsLong(t)
			}
			f := Fault{Name: "kill -9 of " + c.name, Study: c.study, When: c.when, Inject: killing(c.find), Status: 3, Says: c.says, Fails: 1}
			if c.says == unnoticed {
				f.Status, f.Fails = 0, 0
			}
			if c.study == "" {
				f.Study, f.Args = "processes.yaml", []string{"--only", c.only}
			}
			f.Test(t)
		})
	}
}
