package machine

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// doctorAs is what doctor says to the ordinary user in a new session.
func doctorAs(t *testing.T, before string) map[string]found {
	t.Helper()
	return doctor(t, output(t, asUser(t, before+"tare doctor --json")))
}

// advised are the commands of a kind's advice that a pattern finds.
func advised(t *testing.T, f found, pattern string) string {
	t.Helper()
	for _, said := range f.Findings {
		if match := regexp.MustCompile(pattern).FindStringSubmatch(said.Fix); match != nil {
			return match[1]
		}
	}
	t.Fatalf("%s is %s, and no advice has %s: %+v", f.Kind, f.State, pattern, f.Findings)
	return ""
}

// What doctor says is done as it stands there: sudo's part by root, then a new session.
func TestWhatDoctorAdvisesAnOrdinaryUserHelps(t *testing.T) {
	needsMachine(t)
	output(t, exec.CommandContext(t.Context(), "loginctl", "enable-linger", "user"))
	t.Cleanup(func() {
		_ = exec.Command("gpasswd", "--delete", "user", "docker").Run() // not in it where the test failed early
	})
	before := doctorAs(t, "")
	command := advised(t, before["docker"], `sudo (usermod -aG [^;]+);`)
	if command != "usermod -aG docker user" {
		t.Error(command)
	}
	output(t, exec.CommandContext(t.Context(), "sh", "-c", command))
	output(t, asUser(t, advised(t, before["podman"], `^(systemctl --user start podman\.socket)`)))
	after := doctorAs(t, "")
	for _, kind := range []string{"docker", "podman"} {
		if f := after[kind]; f.State == "missing" {
			t.Errorf("%s was %+v and is %+v", kind, before[kind], f)
		}
	}
}

// As newer distributions have it.
func TestAForbiddenUserNamespaceIsNamedWithTheSettingThatAllowsIt(t *testing.T) {
	needsMachine(t)
	for _, setting := range []struct{ name, forbids, allows string }{
		{"kernel.unprivileged_userns_clone", "0", "1"},
		{"user.max_user_namespaces", "0", "10000"},
	} {
		before := strings.TrimSpace(output(t, exec.CommandContext(t.Context(), "sysctl", "-n", setting.name)))
		output(t, exec.CommandContext(t.Context(), "sysctl", "-w", setting.name+"="+setting.forbids))
		f := doctorAs(t, delegated)["native"]
		output(t, exec.CommandContext(t.Context(), "sysctl", "-w", setting.name+"="+before))
		if f.State != "missing" {
			t.Errorf("with %s=%s native is %+v", setting.name, setting.forbids, f)
			continue
		}
		if command := advised(t, f, `sudo (sysctl -w [a-z._]+=[0-9]+)`); command != "sysctl -w "+setting.name+"="+setting.allows {
			t.Errorf("with %s=%s: %s", setting.name, setting.forbids, command)
		}
	}
}

// AppArmor or SELinux confines containers, and an engine gives them a cgroup namespace where v2
// is the only hierarchy.
func TestAContainersProfileAndCgroupNamespaceAreFacts(t *testing.T) {
	needsMachine(t)
	facts := map[string][2]string{"native": {"unconfined", "the host's"}, "docker": {"docker-default (enforce)", "own"}}
	if enforcing, err := os.ReadFile("/sys/fs/selinux/enforce"); err == nil && string(enforcing) == "1" {
		const inContainer = "system_u:system_r:container_t:s0:c*,c*"
		facts = map[string][2]string{"native": {"unconfined_u:unconfined_r:unconfined_t:s0-s0:c0.c1023", "the host's"},
			"docker": {inContainer, "own"}, "podman": {inContainer, "own"}}
	}
	run := filepath.Join(t.TempDir(), "run")
	tare(t, "bench", "--env", strings.Join(slices.Sorted(maps.Keys(facts)), ","), "--runs", "2", "--out", run, "--", "true")
	nothingLeft(t)
	for environment, want := range facts {
		files, err := filepath.Glob(filepath.Join(run, "fingerprints", environment+"--*.json"))
		if err != nil || len(files) != 1 {
			t.Errorf("fingerprints of %s: %q, %v", environment, files, err)
			continue
		}
		var print struct {
			Facts map[string]struct{ Value string }
		}
		text, err := os.ReadFile(files[0])
		if err == nil {
			err = json.Unmarshal(text, &print)
		}
		if err != nil {
			t.Fatal(err)
		}
		for n, key := range []string{"lsm.profile", "namespace[cgroup]"} {
			if got := print.Facts[key].Value; got != want[n] {
				t.Errorf("%s of %s is %q, not %q", key, environment, got, want[n])
			}
		}
	}
}
