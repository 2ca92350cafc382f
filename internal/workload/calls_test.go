package workload

import (
	"slices"
	"testing"

	"tare/internal/agent/calls"
)

func TestTheWorkloadsOfCallsHaveTheKindsOfTheAgent(t *testing.T) {
	for name, kinds := range map[string][]string{"calls": calls.Kinds(), "packets": calls.Outside()} {
		p, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if values := p.Parameters["kind"].Values; !slices.Equal(values, kinds) {
			t.Errorf("the pack %s has %v, and the agent %v", name, values, kinds)
		}
	}
}
