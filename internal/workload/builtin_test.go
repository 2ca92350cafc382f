package workload

import (
	"strconv"
	"strings"
	"testing"
)

func TestEveryBuiltInPackIsValid(t *testing.T) {
	for _, name := range Names() {
		p, err := Builtin(name)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if p.Name != name {
			t.Errorf("the file of %s describes %s", name, p.Name)
		}
		if _, err := p.With(nil, InstanceVars{}); err != nil {
			t.Error(err)
		}
	}
}

// gVisor's network stack takes the ports of outgoing connections from 16000 up
// (pkg/tcpip/ports, firstEphemeral), Linux from 32768. A server whose port one of these
// connections has cannot start.
func TestBuiltInServersListenBelowThePortsOfOutgoingConnections(t *testing.T) {
	for _, name := range Names() {
		p, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		for parameter, has := range p.Parameters {
			if parameter != "port" && !strings.HasSuffix(parameter, "_port") {
				continue
			}
			if port, err := strconv.Atoi(has.Default); err != nil || port >= 16000 {
				t.Errorf("%s: %s: the default is %s (%v); want a number below 16000", name, parameter, has.Default, err)
			}
		}
	}
}
