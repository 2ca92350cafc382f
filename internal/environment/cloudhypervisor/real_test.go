package cloudhypervisor

import (
	"strings"
	"testing"

	"tare/internal/testing/microvmtest"
)

var kind = microvmtest.Kind{Key: "cloud-hypervisor", Source: "cloudhypervisor", Program: "cloud-hypervisor", Variable: "CLOUD_HYPERVISOR", Name: "Cloud Hypervisor", Started: "event = booted"}

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
	for _, want := range []string{`cache: "unsafe" is not known: choose one of writeback, none`, "start: snapshot: a restored guest has the network card"} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
}

func TestTheRealCloudHypervisorStartsWhatTareDefines(t *testing.T) {
	kind.Comes(t, map[string]string{
		"boot":     `{"kernel_args": "earlyprintk=ttyS0 ignore_loglevel", "start_timeout": 120000000000}`,
		"limits":   `{"cache": "none", "root": "copy", "disk_bandwidth": "100MiB", "disk_ops": 5000, "network": "nat", "net_bandwidth": "10MiB", "net_ops": 5000, "start_timeout": 30000000000}`,
		"snapshot": `{"start": "snapshot", "start_timeout": 30000000000}`,
	})
}
