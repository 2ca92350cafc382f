package doctor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tare/internal/environment"
)

func TestWhatDisturbsMeasuringIsSaidWithWhatEndsIt(t *testing.T) {
	for _, c := range []struct {
		name       string
		files      map[string]string
		what       string
		caveat     bool
		said, does string
	}{
		{"a machine that QEMU emulates", map[string]string{"proc/cpuinfo": "processor\t: 0\nmodel name\t: QEMU TCG CPU version 2.5+\n"},
			"a real processor", true, "emulated (QEMU TCG CPU version 2.5+)", "measure on hardware"},
		{"a virtual machine with KVM", map[string]string{"proc/cpuinfo": "model name\t: AMD EPYC Processor\nflags\t\t: fpu hypervisor\n"}, "a real processor", false, "not emulated", ""},
		{"a frequency that follows the load", map[string]string{"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n", "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave\n"},
			"steady CPU frequency", true, "governor powersave:", "cpupower frequency-set -g performance"},
		{"a frequency that stays", map[string]string{"sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n"},
			"steady CPU frequency", false, "governor performance on every core", ""},
		{"no frequency to be seen", nil, "steady CPU frequency", false, "no cpufreq", ""},
		{"turbo of Intel", map[string]string{"sys/devices/system/cpu/intel_pstate/no_turbo": "0\n"}, "no turbo", true, "turbo is on", "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo"},
		{"turbo of AMD", map[string]string{"sys/devices/system/cpu/cpufreq/boost": "1\n"}, "no turbo", true, "turbo is on", "echo 0 > /sys/devices/system/cpu/cpufreq/boost"},
		{"swap", map[string]string{"proc/swaps": "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n/dev/dm-1 partition\t999420\t\t0\t\t-2\n"}, "no swap", true, "swap is on (areas: 1)", "swapoff -a"},
		{"systemd-oomd", map[string]string{"sys/fs/cgroup/system.slice/systemd-oomd.service/cgroup.procs": "412\n"}, "no out-of-memory daemon", true, "systemd-oomd runs", "systemctl stop systemd-oomd.socket systemd-oomd.service"},
		{"no systemd-oomd", nil, "no out-of-memory daemon", false, "does not run", ""},
		{"a kernel without PSI", nil, "pressure and steal time", true, "no pressure stall information", "boot with psi=1"},
		{"a kernel with PSI", map[string]string{"proc/pressure/cpu": "some avg10=0.00\n"}, "pressure and steal time", false, "reports both", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for name, content := range c.files {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for _, found := range noise(root) {
				if found.What != c.what {
					continue
				}
				if (found.State == environment.Caveat) != c.caveat || !strings.Contains(found.Reason, c.said) || !strings.Contains(found.Fix.Text, c.does) {
					t.Errorf("%v: %s; fix: %s", found.State, found.Reason, found.Fix.Text)
				}
				return
			}
			t.Errorf("no finding %q", c.what)
		})
	}
}
