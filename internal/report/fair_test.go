package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/parity"
	"tare/internal/rundir"
	"tare/internal/verdict"
)

// unfair is the fixture with fingerprints: docker logs through its engine and has
// its data in an overlay, the virtual machine's disk ignores syncs, and gVisor
// differs in nothing but itself.
func unfair() Input {
	in := fixture()
	r := &rundir.Run{Manifest: in.Manifest, Plan: in.Plan, Trials: in.Trials, Folder: in.Folder}
	host := map[string]string{
		"kernel.release": "6.1.0-28-amd64", "namespace[net]": "the host's", "seccomp.mode": "off", "log.driver": "none", "log.channel": "pipe",
		"path[/].filesystem": "ext4", "path[/data].filesystem": "ext4", "path[/data].source": "folder", "sysctl[net.ipv4.tcp_congestion_control]": "bbr",
		"cpu.flags": "aes avx avx2 sse2", "memory.thp": "madvise",
	}
	others := map[string]map[string]string{
		"native": {},
		"docker": {"namespace[net]": "own", "seccomp.mode": "filter", "log.driver": "json-file", "log.channel": "the engine's attach", "path[/].filesystem": "overlay", "path[/data].filesystem": "overlay", "path[/data].source": "none"},
		"gvisor": {"kernel.release": "4.19.0-gvisor", "namespace[net]": "own kernel", "path[/].filesystem": "overlay", "path[/data].filesystem": "9p", "sysctl[net.ipv4.tcp_congestion_control]": "reno", "memory.thp": ""},
		"vm":     {"kernel.release": "6.1.0-28-cloud-amd64", "namespace[net]": "own kernel", "disk.cache": "unsafe", "path[/data].source": "/dev/vdb", "cpu.flags": "aes sse2 svm", "memory.thp": "never", "sysctl[net.ipv4.tcp_congestion_control]": "cubic"},
	}
	for _, e := range in.Plan.Environments {
		own, ran := others[e.Name]
		for _, w := range in.Plan.Workloads {
			if !ran || w.Name == "startup" {
				continue
			}
			f := parity.Fingerprint{Environment: e.Name, Workload: w.Name, Facts: map[string]parity.Fact{}}
			for _, facts := range []map[string]string{host, own} {
				for key, value := range facts {
					f.Facts[key] = parity.Fact{Value: value, Seen: parity.Inside}
				}
			}
			if own["memory.thp"] == "" && e.Name == "gvisor" {
				f.Facts["memory.thp"] = parity.Fact{Missing: "no such file", Seen: parity.Inside}
			}
			r.Fingerprints = append(r.Fingerprints, f)
		}
	}
	judged := Of(r, in.Contrasts)
	judged.Folder = in.Folder
	return judged
}

func TestFairnessIsTold(t *testing.T) {
	in := unfair()
	var text, long, md bytes.Buffer
	if err := Terminal(&text, in, TerminalOptions{Width: 80}); err != nil {
		t.Fatal(err)
	}
	if err := Fairness(&long, parity.Summarize(in.Parity), TerminalOptions{Width: 80, All: true}); err != nil {
		t.Fatal(err)
	}
	if err := Markdown(&md, in); err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(text.String(), "\n"+fairTitle+"\n")
	section, _, _ = strings.Cut(section, "\n\n")
	golden(t, "fair.txt", []byte(fairTitle+"\n"+section+"\n"))
	golden(t, "fair-all.txt", long.Bytes())
	_, section, _ = strings.Cut(md.String(), "\n## "+fairTitle)
	section, _, _ = strings.Cut(section, "\n## ")
	golden(t, "fair.md", []byte("## "+fairTitle+section))
	for _, shown := range []string{text.String(), long.String()} {
		for line := range strings.Lines(shown) {
			if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n > 80 {
				t.Errorf("%d columns: %s", n, line)
			}
		}
	}
	page := withoutScript(htmlOf(t, in))
	for _, want := range []string{`id="fair"`, `href="#fair"`, "syncs are ignored", "json-file", `<a class="confounded"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// A confound of disks marks the comparisons of disks, and not those of
// processors; what has none is not marked.
func TestOnlyWhatAConfoundTouchesIsMarked(t *testing.T) {
	marked := map[[2]string]bool{}
	for _, c := range unfair().Contrasts {
		for _, w := range c.Warnings {
			if w.Code == verdict.Confound {
				marked[[2]string{c.Environment, c.Workload}] = true
				if c.Environment == "docker" && c.Workload == "nginx" && !strings.HasSuffix(w.Text, "from native: log path, overlay") {
					t.Errorf("it says %q", w.Text)
				}
			}
		}
	}
	for pair, want := range map[[2]string]bool{
		{"docker", "nginx"}: true, {"docker", "fio-randread"}: true, {"docker", "sysbench-cpu"}: false, {"gvisor", "nginx"}: false,
		{"vm", "fio-randread"}: true, {"vm", "syscalls"}: false, {"docker", "startup"}: false,
	} {
		if marked[pair] != want {
			t.Errorf("%v: marked %v", pair, marked[pair])
		}
	}
	plain := fixture()
	for _, shown := range []string{htmlOf(t, plain), terminalOf(t, TerminalOptions{})} {
		if strings.Contains(shown, fairTitle) || strings.Contains(shown, mark) {
			t.Error("a run without fingerprints says whether it was fair")
		}
	}
}

// What is inherent and yet has an effect is told in full in every format, and
// marks nothing.
func TestWhatIsInherentAndToBeMindedIsToldInFullAndMarksNothing(t *testing.T) {
	in := fixture()
	workload := in.Plan.Workloads[0].Name
	in.Parity = []parity.Comparison{{Environment: "docker", Baseline: "native", Workload: workload, Findings: []parity.Finding{
		{Finding: "packet filter", Class: parity.Inherent, Reason: "a reason", Effect: "an effect", Remove: "a remedy", Touches: true,
			Differences: []parity.Difference{{Fact: "network.tracked", Baseline: "on", Environment: "off"}}},
		{Finding: "namespaces", Class: parity.Inherent, Reason: "why not"},
	}}}
	var short, long, md, page bytes.Buffer
	for _, err := range []error{
		Terminal(&short, in, TerminalOptions{Width: 80}), Fairness(&long, parity.Summarize(in.Parity), TerminalOptions{Width: 80}), Markdown(&md, in), HTML(&page, in),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if want := "docker: no confound was found; to be minded: packet filter (" + workload + ")"; !strings.Contains(strings.Join(strings.Fields(short.String()), " "), want) {
		t.Errorf("there is no %q in\n%s", want, short.String())
	}
	for name, out := range map[string]string{"long": long.String(), "markdown": md.String(), "page": page.String()} {
		for _, want := range []string{"packet filter", "a reason", "an effect", "a remedy"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: there is no %q", name, want)
			}
		}
	}
	if strings.Contains(short.String(), mark) {
		t.Error("something is marked")
	}
}
