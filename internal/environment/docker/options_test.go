package docker

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/host/cleanup"
)

func TestOptionsThatCannotWorkAreRefusedWithTheReason(t *testing.T) {
	for _, c := range []struct {
		name   string
		kind   string
		change func(any)
		want   string // "" means that they are fine
	}{
		{"docker's defaults", "docker", func(any) {}, ""},
		{"podman's defaults", "podman", func(any) {}, ""},
		{"an unknown network", "docker", func(o any) { o.(*Options).Network = "brigde" }, `network: "brigde" is not known: choose one of bridge, nat, publish, publish-loopback, host, none`},
		{"an unknown seccomp profile", "docker", func(o any) { o.(*Options).Seccomp = "off" }, `choose one of default, unconfined`},
		{"unknown data", "docker", func(o any) { o.(*Options).Data = "ramdisk" }, `choose one of bind, volume, overlay, tmpfs, /dev/...`},
		{"data on a device", "docker", func(o any) { o.(*Options).Data = "/dev/sdb1" }, ""},
		{"data on what is no device", "podman", func(o any) { o.(*Options).Data = "/srv/data" }, `data: "/srv/data" is not a block device`},
		{"ports without a network that publishes them", "docker", func(o any) { o.(*Options).Ports = []string{"80"} }, "ports: only network: publish and publish-loopback publish them"},
		{"no log driver", "podman", func(o any) { o.(*Options).Log = "" }, "log: no driver"},
		{"an engine elsewhere", "docker", func(o any) { o.(*Options).Socket = "tcp://10.0.0.1:2375" }, "not a socket of this machine"},
		{"runsc as a runtime in the host's network", "docker", func(o any) { o.(*Options).Runtime, o.(*Options).Network = "runsc", "host" }, "engine: direct"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("DOCKER_HOST", "")
			t.Setenv("TARE_PODMAN_HOST", "")
			registration, _ := environment.Lookup(c.kind)
			options := registration.Options()
			c.change(options)
			err := options.(interface{ Validate() error }).Validate()
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if _, made := registration.New(options); (made == nil) != (err == nil) {
				t.Errorf("New says %v where Validate says %v", made, err)
			}
		})
	}
}

// What a machine without the engine needs first is the engine.
func TestAnEngineThatIsNotInstalledIsInstalledFirst(t *testing.T) {
	absent := "unix://" + filepath.Join(t.TempDir(), "none.sock")
	for program, want := range map[string]string{"no-such-program": "apt-get install -y engine", "sh": "start it"} {
		e := engine{brand: brand{start: environment.Advice("start it"), host: func() string { return absent }, program: program, packaged: "engine"}, host: absent}
		if got := e.fix(e.unreachable(t.Context())).String(); got != want {
			t.Errorf("%s: %q, not %q", program, got, want)
		}
	}
}

// Root's service is closed to ordinary users, who start one of their own.
func TestAnOrdinaryUserStartsTheirOwnPodman(t *testing.T) {
	if !installed("podman") {
		t.Setenv("PATH", t.TempDir())
		podman := filepath.Join(os.Getenv("PATH"), "podman")
		if err := os.WriteFile(podman, []byte("#!/bin/sh\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const own = "systemctl --user start podman.socket (without systemd: sh -c 'mkdir -p /run/user/1000/podman && exec podman system service --time=0 unix:///run/user/1000/podman/podman.sock' &)"
	for _, c := range []struct {
		name, host, session string
		uid                 int
		want                string
	}{
		{"an ordinary user", rootPodman, "/run/user/1000", 1000, own},
		{"a service that ended", "unix:///run/user/1000/podman/podman.sock", "/run/user/1000", 1000, own},
		{"root", rootPodman, "/run/user/0", 0, "run as root (sudo)"},
		{"no session", rootPodman, "", 1000, "run as root (sudo)"},
		{"another socket", "unix:///srv/podman.sock", "/run/user/1000", 1000, "run as root (sudo)"},
	} {
		e := engine{brand: thePodman, host: c.host}
		if got := e.fixFor(syscall.EACCES, c.uid, c.session).String(); got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
	if got := (&engine{brand: thePodman, host: rootPodman}).fixFor(syscall.ENOENT, 1000, "/run/user/1000").String(); got != own {
		t.Errorf("no socket: %q", got)
	}
}

func TestAnAbsentEngineIsMissingWithTheCommandThatStartsIt(t *testing.T) {
	absent := "unix://" + filepath.Join(t.TempDir(), "none.sock")
	for kind, fix := range map[string]string{"docker": "systemctl start docker", "podman": "podman system service"} {
		registration, _ := environment.Lookup(kind)
		options := registration.Options().(*Options)
		options.Socket = absent
		state, findings := environment.Check(t.Context(), kind, options)
		if state != environment.Missing || !strings.Contains(findings[0].Fix.String(), fix) || !strings.Contains(findings[0].Reason, "there is no socket") {
			t.Errorf("%s: %s %+v", kind, state, findings)
		}
		if removed, err := (brand{kind: "engine", name: "engine", host: func() string { return absent }}).sweep(t.Context(), "/home", func(string) bool { return true }); err != nil || len(removed) > 0 {
			t.Errorf("%s: sweeping nothing gives %q, %v", kind, removed, err)
		}
		env, err := registration.New(options)
		if err != nil {
			t.Fatal(err)
		}
		if err := env.(*containers).engine.removeContainer(t.Context(), "x"); err == nil || !strings.Contains(err.Error(), fix) {
			t.Errorf("%s: a call gives %v", kind, err)
		}
	}
}

func TestAnEngineWithoutPermissionIsNotReportedAsStopped(t *testing.T) {
	path := filepath.Join(t.TempDir(), "engine.sock")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 { // root may use every socket, so this thread is another user to the file system
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := syscall.Setfsuid(65534); err != nil {
			t.Fatal(err)
		}
		defer syscall.Setfsuid(0)
	}
	f := theDocker.answers(t.Context(), "unix://"+path)
	if f.State != environment.Missing || !strings.Contains(f.Reason, "no permission to use "+path) || !strings.Contains(f.Fix.String(), "run as root") || strings.Contains(f.Fix.String(), "start") {
		t.Errorf("got %+v", f)
	}
}

// Where SELinux confines containers, they may open what has its label only.
func TestTareAsksForAnSELinuxLabelOnItsOwnFilesAndOnNoOthers(t *testing.T) {
	for directory, binds := range map[string][]string{
		"/tare/a, b": {"/tare/a, b:/data:rw,z"},
		"/tare/a:b":  nil, // which an engine would read as something else
	} {
		var host container.HostConfig
		(&Options{Data: "bind"}).mount(environment.Request{Owner: new(cleanup.Owner), Mounts: []environment.Mount{{From: "/home/someone", To: "/work"}}}, directory, "", nil, &host)
		mounts := []mount.Mount{{Type: mount.TypeBind, Source: "/home/someone", Target: "/work"}}
		if binds == nil {
			mounts = slices.Insert(mounts, 0, mount.Mount{Type: mount.TypeBind, Source: directory, Target: "/data"})
		}
		if !slices.Equal(host.Binds, binds) || !slices.Equal(host.Mounts, mounts) {
			t.Errorf("%s: %q and %+v", directory, host.Binds, host.Mounts)
		}
	}
}

func TestALimitOfIOThatRunscCannotSetIsExplained(t *testing.T) {
	said := errors.New("creating container: systemd error: Failed to set unit properties: Unexpected message contents")
	limited := environment.Limits{IO: environment.IO{Write: quantity.MiB}}
	for _, c := range []struct {
		gvisor    bool
		limits    environment.Limits
		err       error
		explained bool
	}{
		{true, limited, said, true},
		{false, limited, said, false},
		{true, environment.Limits{}, said, false},
		{true, limited, errors.New("no such runtime"), false},
	} {
		err := (&containers{gvisor: c.gvisor, engine: &engine{brand: theDocker}}).explainIO(c.limits, c.err)
		if !errors.Is(err, c.err) || strings.HasPrefix(err.Error(), "limits: io: ") != c.explained {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
