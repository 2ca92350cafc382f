package attribution

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/study"
)

func TestALadderPassesTheEnvironmentsThatItIsAskedTo(t *testing.T) {
	plain, tuned, nvme := of(t, "plain", "qemu"), of(t, "tuned", `qemu {"cache": "none", "aio": "native"}`), of(t, "nvme", `qemu {"disk_device": "nvme"}`)
	for _, c := range []struct {
		name        string
		from, to    study.Environment
		via         []study.Environment
		rungs, keys string
	}{
		{"options", plain, nvme, []study.Environment{tuned},
			"plain 01-none tuned 03-aio 04-writeback nvme",
			"cache.none aio qemu.aio cache.writeback disk_device"},
		{"kinds", of(t, "native", "native"), plain, []study.Environment{of(t, "docker", "docker")},
			"native 01-runtime 02-pid 03-ipc 04-uts 05-devices 06-root 07-capabilities 08-seccomp 09-bridge 10-pipe docker 12-vm 13-machine plain",
			"runtime namespaces.pid namespaces.ipc namespaces.uts devices root capabilities seccomp network.bridge log.pipe rest vm machine cache.writeback"},
		{"there and back", plain, of(t, "again", `qemu {"machine": "microvm"}`), []study.Environment{nvme, tuned},
			"plain nvme 02-none 03-aio tuned 05-machine 06-aio again",
			"disk_device cache.none aio qemu.disk_device machine qemu.aio cache.writeback"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := Build(c.from, c.to, BuildOptions{Via: c.via, Facts: theFacts})
			if err != nil {
				t.Fatal(err)
			}
			var rungs []string
			for _, r := range l.Rungs {
				rungs = append(rungs, r.Name)
			}
			if strings.Join(rungs, " ") != c.rungs || strings.Join(keysOf(l.Parts), " ") != c.keys {
				t.Errorf("rungs %q, parts %q", rungs, keysOf(l.Parts))
			}
			for _, via := range c.via {
				if n := slices.Index(rungs, via.Name); n < 1 || !same(l.Rungs[n], via) {
					t.Errorf("it passes %s, and not %s", rungs, via.Name)
				}
			}
			// In every order the parts up to an environment come before those after it.
			orders, _ := Orders(Units(l, nil), 8, 1)
			if len(orders) == 0 {
				t.Error("there is no order")
			}
			for _, order := range orders {
				if _, err := rungsOf(l, Units(l, nil), order); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestALadderEndsWhereTheNextEnvironmentIsMissing(t *testing.T) {
	path := []study.Environment{{Name: "runc"}, {Name: "gvisor"}, {Name: "kata"}}
	without := func(names ...string) func(study.Environment) string {
		return func(e study.Environment) string {
			if slices.Contains(names, e.Name) {
				return "no RuntimeClass " + e.Name
			}
			return ""
		}
	}
	for _, c := range []struct {
		missing   []string
		end, said string
	}{
		{nil, "kata", ""},
		{[]string{"kata"}, "gvisor", "the ladder ends at gvisor, since kata does not work here: no RuntimeClass kata"},
		{[]string{"gvisor"}, "kata", ""}, // its step is merged with the next one
		{[]string{"gvisor", "kata"}, "gvisor", "the ladder ends at gvisor, since kata does not work here: no RuntimeClass kata"},
	} {
		left, said := reached(path, without(c.missing...))
		if left[len(left)-1].Name != c.end || strings.Join(said, "; ") != c.said {
			t.Errorf("without %q it ends at %s: %q", c.missing, left[len(left)-1].Name, said)
		}
	}
}
