package parity

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// recorded is a fingerprint that was taken, without the facts that all
// environments of its study have alike.
func recorded(t *testing.T, workload, environment string) Fingerprint {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "recorded", workload, environment+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	f := print(environment, strings.TrimSuffix(string(text), "\n"))
	f.Workload = workload
	return f
}

var recordedSides = map[string]Side{
	"native": side("native", "native"), "docker": side("docker", "docker"), "podman": side("podman", "podman"),
	"oci": side("oci", "oci"), "gvisor": side("gvisor", "gvisor", "options.engine=direct"),
	"vm": {Name: "vm", Kind: "qemu", Label: "tcg"},
}

var recordedWorkloads = map[string]string{"nginx": "network", "redis": "network", "mysql-oltp": "disk", "fio": "disk"}

func TestNoDifferenceBetweenTheBuiltInKindsIsWithoutARule(t *testing.T) {
	for workload, stresses := range recordedWorkloads {
		for name, side := range recordedSides {
			c := Builtin().Compare(recordedSides["native"], side, recorded(t, workload, "native"), recorded(t, workload, name), stresses)
			for _, f := range c.Findings {
				if f.Finding == NoRule {
					t.Errorf("%s beside native under %s: %v", name, workload, f.Differences)
				}
			}
		}
	}
}

// What a container, a sandbox and a virtual machine differ in with their usual
// options, and is not of the layer, is known by name; anything else that turns
// up as a confound is a rule that is wrong, or a finding to be looked at.
func TestConfoundsOfTheUsualOptionsAreTheseAndNoOthers(t *testing.T) {
	const files, network, pages, cache = "number of open files", "network settings of the kernel", "huge pages", "host's page cache behind the guest's disk"
	want := map[string]map[string][]string{
		"docker": {}, "oci": {}, "native": {}, "gvisor": {},
		"podman": {"nginx": {files}, "redis": {files}, "mysql-oltp": {files}},
		"vm":     {"nginx": {files, pages, network}, "redis": {files, pages, network}, "mysql-oltp": {cache, files, pages}, "fio": {cache, pages}},
	}
	for name, side := range recordedSides {
		for workload, stresses := range recordedWorkloads {
			c := Builtin().Compare(recordedSides["native"], side, recorded(t, workload, "native"), recorded(t, workload, name), stresses)
			var got []string
			for _, f := range c.Confounds() {
				got = append(got, f.Finding)
			}
			if !slices.Equal(got, want[name][workload]) {
				t.Errorf("%s under %s: %q, not %q", name, workload, got, want[name][workload])
				for _, f := range c.Confounds() {
					t.Log(f.Finding, f.Differences)
				}
			}
		}
	}
}

// brings fails where a comparison lacks a confound by its name, or the fact that
// it is about.
func brings(t *testing.T, c Comparison, confounds map[string]string) {
	t.Helper()
	for finding, fact := range confounds {
		i := slices.IndexFunc(c.Findings, func(f Finding) bool { return f.Finding == finding && f.Class == Confound && f.Touches })
		if i < 0 {
			t.Errorf("%s is no confound: %q", finding, found(c))
			continue
		}
		if !slices.ContainsFunc(c.Findings[i].Differences, func(d Difference) bool { return fits(fact, d.Fact) }) {
			t.Errorf("%s does not tell %s: %v", finding, fact, c.Findings[i].Differences)
		}
	}
}

func TestThePublishedConfigurationsShowTheirConfounds(t *testing.T) {
	nginx := Builtin().Compare(side("native", "native"), side("docker", "docker", "options.log=json-file", "options.network=host", "with.access_log=stdout"),
		recorded(t, "heino-2025-nginx", "native"), recorded(t, "heino-2025-nginx", "docker"), "network")
	brings(t, nginx, map[string]string{
		"log path": "log.driver", "overlay": "path[/var/log/nginx/access.log].filesystem", "configuration": "configuration[server/nginx.conf][user]",
	})
	mysql := Builtin().Compare(side("native", "native"), side("docker", "docker", "options.log=json-file", "options.data=volume", "with.config=/opt/heino-2025/container-mysql"),
		recorded(t, "heino-2025-mysql", "native"), recorded(t, "heino-2025-mysql", "docker"), "disk")
	brings(t, mysql, map[string]string{
		"data directory's file system": "path[/var/lib/mysql].mount", "configuration": "configuration[database/my.cnf][mysqld.user]",
		"log path": "log.driver",
	})
}

// With O_DIRECT one side waits for the disk, and the other for the host's memory.
func TestDirectIOThatDoesNotReachTheDiskTakesTheVerdict(t *testing.T) {
	for environment, finding := range map[string]string{"gvisor": "direct I/O in the sandbox", "vm": "host's page cache behind the guest's disk", "docker": ""} {
		for parameter, want := range map[string]string{"direct = 1": finding, "access = direct": finding, "direct = 0": "", "access = cached": ""} {
			name, value, _ := strings.Cut(parameter, " = ")
			prints := map[string]Fingerprint{}
			for _, of := range []string{"native", environment} {
				prints[of] = recorded(t, "fio", of)
				prints[of].Facts["parameter["+name+"]"] = Fact{Value: value, Seen: Planned}
			}
			c := Builtin().Compare(recordedSides["native"], recordedSides[environment], prints["native"], prints[environment], "disk")
			got := ""
			for _, f := range c.Confounds() {
				if f.NoVerdict {
					got += f.Finding
				}
			}
			if got != want {
				t.Errorf("%s with %s: %q takes the verdict, not %q", environment, parameter, got, want)
			}
		}
	}
}
