package cloudhypervisor

import (
	"strings"
	"testing"

	"tare/internal/testing/microvmtest"
)

func TestAGuestBoots(t *testing.T)                                      { kind.Boots(t) }
func TestLimitsOfIOHoldInAGuest(t *testing.T)                           { kind.Throttles(t) }
func TestAGuestReachesItsHost(t *testing.T)                             { kind.Reaches(t) }
func TestAStartThatFailsSaysWhetherTheGuestDiedOrIsSilent(t *testing.T) { kind.Fails(t) }

// The snapshot is broken after that.
func TestARestoredGuestIsFreshAndKnowsTheTime(t *testing.T) {
	kind.Restores(t, "Error deserialising VM config snapshot: EOF while parsing")
}

func TestASnapshotIsNotPartOfTheStartThatHasATimeout(t *testing.T) {
	kind.SavesInItsOwnTime(t, "PUT "+root+"/vm.pause")
}

func TestAGuestsDisksPassTheHostsCacheByOrNot(t *testing.T) {
	kind.Each(t, func(t *testing.T, b *microvmtest.Bench) {
		i := b.Start(t, b.Environment(t, `{"cache": "none", "cpus": 2}`), b.Request("direct"))
		b.Run(t, i, "dd if=/dev/zero of=/data/some bs=64k count=16 conv=fsync 2>/dev/null")
		b.Stop(t, i)
	})
}

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
