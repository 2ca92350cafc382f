package workload

import (
	"slices"
	"testing"

	"tare/internal/agent/calls"
)

func TestTheWorkloadOfCallsHasTheKindsOfTheAgent(t *testing.T) {
	p, err := Builtin("calls")
	if err != nil {
		t.Fatal(err)
	}
	if values := p.Parameters["kind"].Values; !slices.Equal(values, calls.Kinds()) {
		t.Errorf("the pack has %v, and the agent %v", values, calls.Kinds())
	}
}
