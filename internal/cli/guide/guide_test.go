package guide

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/environment"
	"tare/internal/environment/oci"
	"tare/internal/run/doctor"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/reporttest"
)

func works(kind string) doctor.Environment {
	return doctor.Environment{Kind: kind, State: environment.Usable}
}

// lacks is a kind with what it misses, and the fix of each.
func lacks(kind string, fixes ...environment.Fix) doctor.Environment {
	e := doctor.Environment{Kind: kind, State: environment.Missing, Findings: []environment.Finding{{State: environment.Usable}}}
	for _, fix := range fixes {
		e.Findings = append(e.Findings, environment.Finding{State: environment.Missing, What: kind, Fix: fix})
	}
	return e
}

func of(directory, name string, stopped string) *rundir.Run {
	s := rundir.Session{Started: time.Unix(1e9, 0), Stopped: stopped}
	if stopped != "" {
		s.Ended = time.Unix(1e9+60, 0)
	}
	return &rundir.Run{Directory: filepath.Join(directory, name), Plan: &study.Plan{Name: "quick", Study: "quick", Baseline: "native"},
		Manifest: rundir.Manifest{Sessions: []rundir.Session{s}}}
}

var startOwnPodman = environment.Fix{Code: environment.FixStart, Own: true, Command: "systemctl --user start podman.socket",
	Alternative: "sh -c 'mkdir -p /run/user/1000/podman && exec podman system service --time=0 unix:///run/user/1000/podman/podman.sock' &"}

var startDocker = environment.Fix{Code: environment.FixStart, Command: "systemctl start docker", Alternative: "dockerd &"}

func TestTheGuideFitsAScreenInEveryState(t *testing.T) {
	tcg := doctor.Environment{Kind: "qemu", State: environment.Caveat, Label: "tcg"}
	here := func(change func(*machine)) machine {
		m := machine{root: true, baseline: "native", compared: []string{"docker", "gvisor", "qemu"}, budget: 8 * time.Minute, made: 1,
			checked: []doctor.Environment{works("docker"), lacks("firecracker", environment.Advice("use a host with working KVM")), works("native"), tcg}}
		change(&m)
		return m
	}
	for name, m := range map[string]machine{
		"no-run": here(func(m *machine) { m.made = 0 }),
		"interrupted": here(func(m *machine) {
			m.runs, m.all = []*rundir.Run{of("/r", "quick-2", rundir.Interrupted), of("/r", "quick-1", "done")}, 2
		}),
		"killed":    here(func(m *machine) { m.runs, m.all = []*rundir.Run{of("/r", "quick-1", "")}, 1 }),
		"under-way": here(func(m *machine) { m.runs, m.all, m.underWay = []*rundir.Run{of("/r", "quick-1", "")}, 1, true }),
		"bubblewrap-alone": here(func(m *machine) {
			m.made, m.checked = 0, []doctor.Environment{works("bubblewrap"), works("native")}
		}),
		"two-runs": here(func(m *machine) {
			m.runs, m.all = []*rundir.Run{of("/r", "quick-2", "all verdicts are reached after 12 blocks"), of("/r", "quick-1", "done")}, 12
		}),
		"new-machine": {root: true, systemd: true, baseline: "native", images: errors.New("not installed: mmdebstrap"), install: []string{"mmdebstrap"},
			checked: []doctor.Environment{lacks("bubblewrap", environment.Install("bubblewrap")), lacks("docker", environment.Fix{Code: environment.FixInstall, Packages: []string{"docker.io"}, Service: true}), works("native"),
				lacks("qemu", environment.Install("qemu-system-x86", "qemu-utils"), environment.Install("qemu-system-x86", "qemu-utils"), environment.Install("e2fsprogs"))}},
		"ordinary-user": {baseline: "native", budget: 8 * time.Minute, images: errors.New("making a root file system needs root"),
			home:      errors.New("/nowhere cannot be used, since / cannot be written: permission denied; name another directory with --home"),
			unchecked: []string{"kubernetes"},
			checked:   []doctor.Environment{lacks("docker", startDocker), lacks("native", environment.AsRoot("systemd-run --user --scope tare ..., or run tare as root (sudo)")), lacks("oci", environment.AsRoot(""))}},
		"not-known-yet": {systemd: true, baseline: "native", images: errors.New("making a root file system needs root"), unchecked: []string{"kubernetes", "qemu"},
			checked: []doctor.Environment{lacks("podman", startOwnPodman), lacks("native", environment.AsRoot(""))}},
		"made-images-only": here(func(m *machine) {
			m.root, m.made, m.images = false, 0, errors.New("making a root file system needs root")
		}),
		"slow-checks": here(func(m *machine) {
			m.made, m.checked, m.unchecked = 0, []doctor.Environment{works("bubblewrap"), works("native")}, []string{"docker", "kubernetes"}
		}),
		"without-native": here(func(m *machine) {
			m.checked = []doctor.Environment{works("docker"), works("gvisor"), lacks("native", environment.Advice("run tare outside of this container, or start it with --privileged"))}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			m.guide().Text(&out, 80)
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if len(lines) > 23 {
				t.Errorf("%d lines", len(lines))
			}
			for _, line := range lines {
				if ansi.StringWidth(line) > 80 && !strings.HasPrefix(line, "  apt-get ") { // to be copied
					t.Errorf("wider than a screen: %s", line)
				}
			}
			reporttest.Golden(t, name+".txt", []byte(out.String()))
		})
	}
}

func TestAFixIsTheCommandOfThisMachine(t *testing.T) {
	source := t.TempDir()
	for _, c := range []struct {
		name string
		fix  environment.Fix
		want string
		m    machine
	}{
		{"with systemd", startDocker, "systemctl start docker", machine{root: true, systemd: true}},
		{"without systemd", startDocker, "dockerd &", machine{root: true}},
		{"an ordinary user", startDocker, "sudo dockerd &", machine{}},
		{"an ordinary user's own service", startOwnPodman, "systemctl --user start podman.socket", machine{systemd: true}},
		{"the same without systemd", startOwnPodman, "sh -c 'mkdir -p /run/user/1000/podman && exec podman system service --time=0 unix:///run/user/1000/podman/podman.sock' &", machine{}},
		{"a mount", environment.Run("mount -t cgroup2 none /sys/fs/cgroup"), "sudo mount -t cgroup2 none /sys/fs/cgroup", machine{}},
		{"prose", environment.Advice("look at its log, and restart it"), "", machine{root: true}},
		{"an installed tare", oci.InstallRunsc, "", machine{root: true}},
		{"a checkout", oci.InstallRunsc, filepath.Join(source, installer) + " /usr/local/bin", machine{root: true, checkout: source}},
	} {
		if got := c.m.command(c.fix); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
	built := filepath.Join(source, "build", "bin")
	if err := os.MkdirAll(built, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(built, "runsc"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	if got, want := (machine{checkout: source}).command(oci.InstallRunsc), "export PATH="+built+":$PATH"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
}

func TestAHomeThatCannotBeMadeCannotBeUsed(t *testing.T) {
	if err := usable(filepath.Join(t.TempDir(), "not", "yet")); err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := usable(filepath.Join(file, "home")); err == nil {
		t.Error("a home below a file is usable")
	}
}
