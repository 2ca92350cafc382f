package cloudhypervisor

import (
	"strings"
	"testing"

	"tare/internal/testing/microvmtest"
)

var kind = microvmtest.Kind{Key: "cloud-hypervisor", Source: "cloudhypervisor", Program: "cloud-hypervisor", Name: "Cloud Hypervisor", Started: "vm.boot"}

func TestAGuestBoots(t *testing.T)                                      { kind.Boots(t) }
func TestARestoredGuestIsFreshAndKnowsTheTime(t *testing.T)             { kind.Restores(t) }
func TestLimitsOfIOHoldInAGuest(t *testing.T)                           { kind.Throttles(t) }
func TestAGuestReachesItsHost(t *testing.T)                             { kind.Reaches(t) }
func TestAStartThatFailsSaysWhetherTheGuestDiedOrIsSilent(t *testing.T) { kind.Fails(t) }

func TestAWrongOptionIsNamed(t *testing.T) {
	o := defaults()
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
	o.Cache, o.Start, o.Network = "unsafe", "snapshot", "nat"
	for _, want := range []string{`cache: "unsafe" is not one of writeback, none`, "start: snapshot: a restored guest has the network card"} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}
