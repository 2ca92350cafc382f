package parity

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// print makes a fingerprint of lines: key = value; a value that begins with ? is
// missing for the reason after it.
func print(environment, text string) Fingerprint {
	f := Fingerprint{Environment: environment, Workload: "nginx", Facts: map[string]Fact{}}
	for _, line := range strings.Split(text, "\n") {
		key, value, _ := strings.Cut(strings.TrimLeft(line, "\t "), " = ")
		if reason, missing := strings.CutPrefix(value, "?"); missing {
			f.Facts[key] = Fact{Missing: reason, Seen: Inside}
		} else {
			f.Facts[key] = Fact{Value: value, Seen: Inside}
		}
	}
	return f
}

func side(name, kind string, asked ...string) Side {
	s := Side{Name: name, Kind: kind, Asked: map[string]string{}, Usual: map[string]string{}}
	for _, a := range asked {
		key, value, _ := strings.Cut(a, "=")
		s.Asked[key], s.Usual[key] = value, "usual"
	}
	return s
}

// found prints the findings of a comparison: "log path: confound".
func found(c Comparison) (list []string) {
	for _, f := range c.Findings {
		text := f.Finding + ": " + string(f.Class)
		if f.Class == Confound && !f.Touches {
			text += ", idle"
		}
		list = append(list, text)
	}
	return list
}

func TestOptionsOfTheIsolationLayerAreChosenAndThoseOfTheWorkloadAreNot(t *testing.T) {
	host := print("a", "namespace[net] = the host's\nlog.driver = none\nconfiguration[server/nginx.conf][http.access_log] = /data/a.log\nconfiguration[server/nginx.conf][worker_processes] = 1")
	own := print("b", "namespace[net] = own\nlog.driver = json-file\nconfiguration[server/nginx.conf][http.access_log] = /dev/stdout\nconfiguration[server/nginx.conf][worker_processes] = 2")
	with := []string{"options.network=nat", "options.log=json-file", "with.access_log=/dev/stdout", "with.workers=2"}
	for _, c := range []struct {
		a, b Side
		want []string
	}{
		{side("a", "native"), side("b", "docker"), []string{"log path: confound", "configuration: confound", "namespaces: inherent"}},
		{side("a", "native"), side("b", "docker", with...), []string{"log path: confound", "configuration: confound", "namespaces: chosen"}},
		{side("a", "docker"), side("b", "docker", with...), []string{"log path: chosen", "configuration: chosen", "namespaces: chosen"}},
	} {
		got := Builtin().Compare(c.a, c.b, host, own, "network")
		if !slices.Equal(found(got), c.want) {
			t.Errorf("%v beside %v: %q", c.a, c.b, found(got))
		}
	}
	asked := Builtin().Compare(side("a", "native"), side("b", "docker", with...), host, own, "network").Findings[0].Asked
	if want := []string{"b: log=json-file", "b: with.access_log=/dev/stdout"}; !slices.Equal(asked, want) {
		t.Errorf("asked: %q", asked)
	}
}

func TestAFindingNamesOnlyTheParametersThatItIsAbout(t *testing.T) {
	a := print("a", "command[server] = serve ${address} 1\nconfiguration[server/c][access_log] = off\nparameter[access_log] = off\nparameter[workers] = 1\nparameter[requests] = 2000")
	b := print("b", "command[server] = serve 0.0.0.0 4\nconfiguration[server/c][access_log] = /dev/stdout\nparameter[access_log] = stdout\nparameter[workers] = 4\nparameter[requests] = 3000")
	c := Builtin().Compare(side("a", "native"), side("b", "docker", "with.access_log=stdout", "with.workers=4", "with.requests=3000"), a, b, "network")
	got := map[string]string{}
	for _, f := range c.Findings {
		got[f.Finding] = strings.Join(f.Asked, "; ")
	}
	// What the log path and the command line tell is not told again.
	for finding, want := range map[string]string{"log path": "b: with.access_log=stdout", "command line": "b: with.workers=4", "parameters": "b: with.requests=3000"} {
		if got[finding] != want {
			t.Errorf("%s: %q, not %q", finding, got[finding], want)
		}
	}
	i := slices.IndexFunc(c.Findings, func(f Finding) bool { return f.Finding == "command line" })
	if text := c.Findings[i].Differences[0].Baseline; !strings.Contains(text, "the instance's address") || strings.Contains(text, "$") {
		t.Errorf("an address is shown as %q", text)
	}
	if i := slices.IndexFunc(c.Findings, func(f Finding) bool { return f.Finding == "parameters" }); len(c.Findings[i].Differences) != 1 {
		t.Errorf("%+v", c.Findings[i].Differences)
	}
}

func TestAnOverlayIsAConfoundOnlyBelowPathsOfTheWorkload(t *testing.T) {
	disk := print("a", "path[/].filesystem = ext4\npath[/data/www].filesystem = ext4\npath[/data/www].mount = /data")
	layered := print("b", "path[/].filesystem = overlay\npath[/data/www].filesystem = overlay\npath[/data/www].mount = /")
	got := Builtin().Compare(side("a", "native"), side("b", "docker", "options.data=overlay"), disk, layered, "network")
	if want := []string{"overlay: confound", "root file system: inherent"}; !slices.Equal(found(got), want) {
		t.Errorf("%q", found(got))
	}
	if n := len(got.Findings[0].Differences); n != 2 {
		t.Errorf("the mount is not told with the overlay: %v", got.Findings[0].Differences)
	}
	if got := Builtin().Compare(side("a", "native"), side("b", "docker"), disk, layered, "disk"); found(got)[0] != "data directory's file system: confound" {
		t.Errorf("of a database: %q", found(got))
	}
}

func TestAConfoundTouchesOnlyWorkloadsThatItAffects(t *testing.T) {
	a, b := print("a", "disk.cache = none"), print("b", "disk.cache = unsafe")
	for stresses, want := range map[string]string{"disk": "syncs are ignored: confound", "cpu": "syncs are ignored: confound, idle"} {
		c := Builtin().Compare(side("a", "qemu"), side("b", "firecracker"), a, b, stresses)
		if !slices.Equal(found(c), []string{want}) || (stresses == "cpu") != (len(c.Confounds()) == 0) {
			t.Errorf("%s: %q, confounds %v", stresses, found(c), c.Confounds())
		}
	}
}

func TestAFactWithoutARuleIsAConfound(t *testing.T) {
	c := Builtin().Compare(side("a", "native"), side("b", "docker"), print("a", "colour = red"), print("b", "colour = blue"), "cpu")
	if len(c.Confounds()) != 1 || c.Confounds()[0].Finding != NoRule || !strings.Contains(c.Confounds()[0].Reason, "no rule matches") {
		t.Errorf("%+v", c)
	}
}

func TestAFactOfOneSideIsReportedAsNotCompared(t *testing.T) {
	c := Builtin().Compare(side("a", "native"), side("b", "gvisor"),
		print("a", "memory.thp = always\nlocale = C\nlsm = ?no access"), print("b", "memory.thp = ?gVisor has no such file\nlocale = C\nlsm = ?no such file"), "cpu")
	if len(c.Findings) > 0 || c.Same != 1 || len(c.Unseen) != 1 || c.Unseen[0] != (Unseen{"memory.thp", "b", "gVisor has no such file"}) {
		t.Errorf("%+v", c)
	}
}

func TestAFactWithAQuestionMarkStandsForAllUnreadableFacts(t *testing.T) {
	c := Builtin().Compare(side("a", "native"), side("b", "docker"),
		print("a", "program[database/mariadbd].sha256 = 9b44\nenvironment[LANG] = C\nprogram[driver/sysbench].path = /usr/bin/sysbench"),
		print("b", "program[database/?].path = ?permission denied\nenvironment[?] = ?permission denied\nprogram[driver/sysbench].path = /usr/bin/sysbench"), "disk")
	if len(c.Findings) > 0 || c.Same != 1 || !slices.Contains(c.Unseen, Unseen{"program[database/mariadbd].sha256", "b", "permission denied"}) {
		t.Errorf("%+v", c)
	}
}

func TestValuesAreComparedAsTheRuleSays(t *testing.T) {
	for _, c := range []struct {
		compare, a, b string
		differ        bool
		x, y          string
	}{
		{"equal", "1", "1.0", true, "1", "1.0"},
		{"ignore", "1", "2", false, "1", "2"},
		{"within 5%", "100", "104", false, "100", "104"},
		{"within 5%", "100 MiB", "110 MiB", true, "100 MiB", "110 MiB"},
		{"within 5%", "none", "5", true, "none", "5"},
		{"set", "aes avx sse2", "sse2 aes", true, "avx", ""},
		{"set", "rw,noatime", "noatime,rw", false, "", ""},
	} {
		x, y, differ := (&Rule{Compare: c.compare}).differ(c.a, c.b)
		if differ != c.differ || x != c.x || y != c.y {
			t.Errorf("%s: %q and %q: %v, %q and %q", c.compare, c.a, c.b, differ, x, y)
		}
	}
}

// Whatever is compared, nothing gets lost, an environment does not differ from
// itself, and the other way round the same facts differ.
func TestEveryFactIsSameDifferentUnseenOrIgnored(t *testing.T) {
	value := rapid.SampledFrom([]string{"", "1", "2", "own", "the host's", "overlay", "ext4", "?no access"})
	kind := rapid.SampledFrom([]string{"native", "docker", "gvisor", "qemu", "oci"})
	rapid.Check(t, func(t *rapid.T) {
		var texts [2][]string
		for _, k := range Keys() {
			for i := range texts {
				texts[i] = append(texts[i], fmt.Sprintf("%s = %s", sample(k.Name), value.Draw(t, k.Name)))
			}
		}
		a, b := print("a", strings.Join(texts[0], "\n")), print("b", strings.Join(texts[1], "\n"))
		x, y := side("a", kind.Draw(t, "a")), side("b", kind.Draw(t, "b"))
		if c := Builtin().Compare(x, x, a, a, "disk"); len(c.Findings) > 0 || len(c.Unseen) > 0 {
			t.Fatalf("it differs from itself: %+v", c)
		}
		facts := func(c Comparison) (list []string) {
			for _, f := range c.Findings {
				for _, d := range f.Differences {
					list = append(list, d.Fact)
				}
			}
			slices.Sort(list)
			return list
		}
		there, back := Builtin().Compare(x, y, a, b, "disk"), Builtin().Compare(y, x, b, a, "disk")
		if !slices.Equal(facts(there), facts(back)) || there.Same != back.Same || len(there.Unseen) != len(back.Unseen) {
			t.Fatalf("%+v\nand back %+v", there, back)
		}
		if n := there.Same + len(there.Unseen) + len(facts(there)); n > len(Keys()) {
			t.Fatalf("%d facts of %d", n, len(Keys()))
		}
	})
}

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		fit           bool
	}{
		{"a.*", "a.b.c", true}, {"a.*", "a", false}, {"*", "", true}, {"a", "a", true}, {"a", "ab", false}, {"", "", true}, {"", "a", false},
		{"sysctl[net.*]", "sysctl[net.core.somaxconn]", true}, {"sysctl[net.*]", "sysctl[vm.swappiness]", false},
		{"path[*.log].*", "path[/data/a.log].filesystem", true}, {"*overlay*", "fuse-overlayfs", true}, {"a*a", "a", false}, {"a*b*c", "abc", true},
	} {
		if fits(c.pattern, c.text) != c.fit {
			t.Errorf("%q and %q", c.pattern, c.text)
		}
	}
}

// Rules that a machine has for its engines are passed by what runs in its own
// network alone: that is told with its effect, and is no confound. Between two
// that share the network, or have one each, nothing implies it.
func TestAPacketFilterOnOneSideIsAConfoundOnlyOnTheSameNetwork(t *testing.T) {
	facts := func(space, rules, tracked string) Fingerprint {
		return print("x", "namespace[net] = "+space+"\nnetwork.filter[output] = "+rules+"\nnetwork.tracked = "+tracked)
	}
	host := facts("the host's", "nat: 1 to 9 rules", "on")
	for name, c := range map[string]struct {
		other    Fingerprint
		b        Side
		stresses string
		class    Class
		touches  bool
	}{
		"a container":                    {facts("own", "none", "off"), side("b", "docker"), "network", Inherent, true},
		"a guest":                        {facts("own kernel", "none", "off"), side("b", "qemu"), "network", Inherent, true},
		"no packets":                     {facts("own", "none", "off"), side("b", "docker"), "disk", Inherent, false},
		"a network that was asked for":   {facts("own", "none", "off"), side("b", "docker", "options.network=nat"), "network", Chosen, false},
		"another machine's same network": {facts("the host's", "none", "off"), side("b", "machine"), "network", Confound, true},
	} {
		t.Run(name, func(t *testing.T) {
			got := Builtin().Compare(side("a", "native"), c.b, host, c.other, c.stresses)
			i := slices.IndexFunc(got.Findings, func(f Finding) bool { return f.Finding == "packet filter" })
			if i < 0 {
				t.Fatalf("it is not found: %q", found(got))
			}
			f := got.Findings[i]
			if f.Class != c.class || f.Touches != c.touches || len(f.Differences) != 2 || (f.Effect == "") != (c.class == Chosen) {
				t.Errorf("it is %+v", f)
			}
			if notes := Summarize([]Comparison{got})[0].Notes(); (len(notes) == 1) != (c.class == Inherent && c.touches) {
				t.Errorf("notes: %+v", notes)
			}
		})
	}
}
