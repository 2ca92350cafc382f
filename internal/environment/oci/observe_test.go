package oci

import (
	"maps"
	"strings"
	"testing"

	"tare/internal/agent"
)

// What processes under runc, and on the host, observe.
var (
	onHost = View{
		status: "Name:\ttare\nNoNewPrivs:\t0\nSeccomp:\t0\nCapEff:\t000001ffffffffff\n", uidMap: "         0          0 4294967295\n", bootID: "one\n",
		ns + "pid": "pid:[1]", ns + "mnt": "mnt:[1]", ns + "ipc": "ipc:[1]", ns + "uts": "uts:[1]", ns + "cgroup": "cgroup:[1]",
		ns + "user": "user:[1]", ns + "time": "time:[1]", ns + "net": "net:[1]",
	}
	underRunc = View{
		status: "Name:\ttare-agent\nNoNewPrivs:\t0\nSeccomp:\t2\nCapEff:\t00000000a80425fb\n", uidMap: "         0          0 4294967295\n", bootID: "one\n",
		mountinfo: `608 527 0:73 / / rw,relatime - overlay tare rw,lowerdir=/a,upperdir=/b,workdir=/c
609 608 0:75 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
623 608 254:0 /d /data rw,relatime - ext4 /dev/vda rw
540 609 0:75 /sys /proc/sys ro,nosuid,nodev,noexec,relatime - proc proc rw
`,
		ns + "pid": "pid:[2]", ns + "mnt": "mnt:[2]", ns + "ipc": "ipc:[2]", ns + "uts": "uts:[2]", ns + "cgroup": "cgroup:[2]",
		ns + "user": "user:[1]", ns + "time": "time:[1]", ns + "net": "net:[2]",
	}
	underRunsc = View{
		status: "Name:\ttare-agent\nNoNewPrivs:\t0\nSeccomp:\t0\nCapEff:\t00000000a80405fb\n", uidMap: "         0          0 4294967295\n", bootID: "two\n",
		mountinfo: `1 1 0:15 / / rw - overlay none rw
12 1 0:21 / /data rw - 9p none rw
`,
		ns + "pid": "pid:[9]", ns + "mnt": "mnt:[9]", ns + "ipc": "ipc:[9]", ns + "uts": "uts:[9]", ns + "user": "user:[9]", ns + "net": "net:[9]",
	}
)

func TestAFailureInsideIsOneShortLine(t *testing.T) {
	crash := "runtime: failed to create new OS thread (have 5 already; errno=11)\nruntime: may need to increase max user processes (ulimit -u)\nfatal error: newosproc\n\nruntime stack:\nruntime.throw({0x1, 0x2})\n"
	for _, c := range []struct {
		exit   agent.Exit
		stderr string
		want   string
	}{
		{agent.Exit{Code: 2}, crash, "exited with status 2: runtime: failed to create new OS thread (have 5 already; errno=11); runtime: may need to increase max user processes (ulimit -u); fatal error: newosproc"},
		{agent.Exit{Code: -1, Signal: "SIGKILL"}, "", "was killed by SIGKILL without a message"},
		{agent.Exit{Code: 1}, strings.Repeat("x", 300) + "y", "exited with status 1: …" + strings.Repeat("x", 199) + "y"},
	} {
		if got := failure(c.exit, c.stderr); got != c.want {
			t.Errorf("%+v: %s", c.exit, got)
		}
	}
}

func TestOptionsInEffectGiveNoNote(t *testing.T) {
	o := Default()
	if notes := Ignored(&o, underRunc, onHost, nil); len(notes) > 0 {
		t.Errorf("%q", notes)
	}
}

func TestASwitchWithoutEffectIsDetectedInside(t *testing.T) {
	for _, c := range []struct {
		key    string
		option func(*Options)
		view   func(View)
	}{
		{"namespaces.pid", nil, func(v View) { v[ns+"pid"] = onHost[ns+"pid"] }},
		{"namespaces.mount", nil, func(v View) { v[ns+"mnt"] = onHost[ns+"mnt"] }},
		{"namespaces.ipc", func(o *Options) { o.Namespaces.IPC = false }, nil},
		{"namespaces.uts", nil, func(v View) { v[ns+"uts"] = onHost[ns+"uts"] }},
		{"namespaces.cgroup", nil, func(v View) { delete(v, ns+"cgroup") }},
		{"namespaces.time", func(o *Options) { o.Namespaces.Time = true }, nil},
		{"namespaces.user", nil, func(v View) { v[uidMap] = "0 100000 65536" }},
		{"network", func(o *Options) { o.Network = "host" }, nil},
		{"network", nil, func(v View) { v[ns+"net"] = onHost[ns+"net"] }},
		{"seccomp", nil, func(v View) { v[status] = strings.Replace(v[status], "Seccomp:\t2", "Seccomp:\t0", 1) }},
		{"seccomp", func(o *Options) { o.Seccomp = "unconfined" }, nil},
		{"no_new_privs", func(o *Options) { o.NoNewPrivs = true }, nil},
		{"capabilities", func(o *Options) { o.Capabilities = "none" }, nil},
		{"capabilities", nil, func(v View) { v[status] = strings.Replace(v[status], "a80425fb", "a80405fb", 1) }},
		{"root", func(o *Options) { o.Root = "folder" }, nil},
		{"root", nil, func(v View) { v[mountinfo] = strings.Replace(v[mountinfo], "overlay tare", "ext4 /dev/vda", 1) }},
		{"masked", func(o *Options) { o.Masked = false }, nil},
		{"data", func(o *Options) { o.Data = "overlay" }, nil},
	} {
		o, v := Default(), maps.Clone(underRunc)
		if c.option != nil {
			c.option(&o)
		}
		if c.view != nil {
			c.view(v)
		}
		if notes := Ignored(&o, v, onHost, nil); len(notes) != 1 || !strings.HasPrefix(notes[0], c.key+": the runtime runc ignored the option") {
			t.Errorf("%s: %q", c.key, notes)
		}
	}
}

func TestSwitchesThatGVisorIgnoresGiveANote(t *testing.T) {
	o := Default()
	o.Runtime, o.Namespaces.PID = "runsc", false
	notes := strings.Join(Ignored(&o, underRunsc, onHost, nil), "\n")
	for _, want := range []string{"namespaces.pid: the runtime runsc ignored the option: the instance has a separate kernel", "namespaces.cgroup:", "seccomp:", "missing inside: CAP_NET_RAW", "masked:"} {
		if !strings.Contains(notes, want) {
			t.Errorf("nothing says %q in\n%s", want, notes)
		}
	}
	for _, not := range []string{"namespaces.time", "namespaces.user", "namespaces.ipc", "network", "root:"} {
		if strings.Contains(notes, not) {
			t.Errorf("%s is spoken of in\n%s", not, notes)
		}
	}
}

func TestWhatTareCannotGrantIsNotBlamedOnTheRuntime(t *testing.T) {
	o := Default()
	held := without(dockerCapabilities, []string{"CAP_MKNOD"})
	v := maps.Clone(underRunc)
	v[status] = strings.Replace(v[status], "a80425fb", "a00425fb", 1)
	if notes := Ignored(&o, v, onHost, held); len(notes) != 1 || !strings.HasSuffix(notes[0], "does not have them: CAP_MKNOD") {
		t.Errorf("%q", notes)
	}
}
