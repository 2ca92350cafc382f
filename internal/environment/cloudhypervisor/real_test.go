package cloudhypervisor

import (
	"strings"
	"testing"
)

func TestAWrongOptionIsNamed(t *testing.T) {
	o := defaults()
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	o.Cache, o.Start, o.Network = "unsafe", "snapshot", "nat"
	for _, want := range []string{`cache: "unsafe" is not known: choose one of writeback, none`, "start: snapshot: a restored guest has the network card"} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}
