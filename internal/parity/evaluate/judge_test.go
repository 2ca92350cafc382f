package evaluate

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/environment/native"
	"tare/internal/environment/oci"
	"tare/internal/image"
	"tare/internal/parity"
	"tare/internal/study"
	"tare/internal/subject"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// planned is a plan of the native environment and two of another kind, with a
// workload of the disk and one of the processor.
func planned(t *testing.T) *study.Plan {
	t.Helper()
	options := func(o any) json.RawMessage {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	inMemory := oci.Default()
	inMemory.Data = "tmpfs"
	wide := environment.Limits{CPUs: 2}
	p := &study.Plan{Baseline: "native", Limits: environment.Limits{CPUs: 1, Memory: quantity.MiB}, Environments: []study.Environment{
		{Name: "native", Kind: "native", Options: options(native.Defaults()), Limits: environment.Limits{CPUs: 1, Memory: quantity.MiB}},
		{Name: "usual", Kind: "oci", Options: options(oci.Default()), Limits: environment.Limits{CPUs: 1, Memory: quantity.MiB}},
		{Name: "memory", Kind: "oci", Options: options(inMemory), Limits: wide, With: map[string]map[string]string{"disk": {"size": "2"}}},
	}}
	for _, name := range []string{"disk", "cpu"} {
		p.Workloads = append(p.Workloads, study.Workload{Name: name, Pack: workload.Pack{Name: name, Stresses: name},
			Levels: []study.Level{{Name: "size=1", Parameters: map[string]string{"size": "1"}}}})
	}
	return p
}

func prints(values map[string]string) (list []parity.Fingerprint) {
	for environment, value := range values {
		for _, w := range []string{"disk", "cpu"} {
			list = append(list, parity.Fingerprint{Environment: environment, Workload: w, Facts: map[string]parity.Fact{
				"path[/data].filesystem": {Value: value}, "limit.cpu": {Value: map[string]string{"memory": "2"}[environment]},
			}})
		}
	}
	return list
}

func unlabelled(string) string { return "" }

func TestTheRequestIsReadFromThePlan(t *testing.T) {
	s := New(planned(t), nil, nil, unlabelled).side(subject.Cell{Environment: "memory", Workload: "disk"})
	for key, want := range map[string][2]string{
		"options.data": {"tmpfs", "bind"}, "options.namespaces.pid": {"true", "true"}, "limits.cpus": {"2", "1"}, "with.size": {"2", "1"},
	} {
		if got := [2]string{s.Asked[key], s.Usual[key]}; got != want {
			t.Errorf("%s: %q, not %q", key, got, want)
		}
	}
}

func TestTheSameOptionIsChosenWithinAKindAndAConfoundBetweenTwo(t *testing.T) {
	p := planned(t)
	b := New(p, prints(map[string]string{"native": "ext4", "usual": "ext4", "memory": "tmpfs"}), nil, unlabelled)
	classes := func(environment, baseline string) (list []string) {
		c, known := b.Between(subject.Cell{Environment: environment, Workload: "disk"}, baseline)
		if !known {
			t.Fatalf("%s and %s are not compared", environment, baseline)
		}
		for _, f := range c.Findings {
			list = append(list, f.Finding+": "+string(f.Class))
		}
		return list
	}
	if got := classes("memory", "native"); !slices.Equal(got, []string{"data directory's file system: confound", "parameters: confound", "limits: chosen"}) {
		t.Errorf("beside native: %q", got)
	}
	if got := classes("memory", "usual"); !slices.Equal(got, []string{"data directory's file system: chosen", "parameters: chosen", "limits: chosen"}) {
		t.Errorf("beside one of its kind: %q", got)
	}
	if _, known := b.Between(subject.Cell{Environment: "native", Workload: "disk"}, "native"); known {
		t.Error("an environment is compared with itself")
	}
}

func TestTheSystemOfTheMachineIsAskedForWithinAKind(t *testing.T) {
	p := planned(t)
	vm := study.Environment{Name: "vm", Kind: "qemu"}
	p.Environments[1].Inside, p.Environments[2].Inside = &vm, &vm
	other := vm
	other.System = image.System{Suite: "trixie", Kernel: "stock"}
	p.Environments[2].Inside = &other
	var prints []parity.Fingerprint
	for name, facts := range map[string][4]string{
		"usual": {"Debian GNU/Linux 12 (bookworm)", "6.1", "1.1.5", "madvise"}, "memory": {"Debian GNU/Linux 13 (trixie)", "6.12", "1.1.15", "always"},
	} {
		prints = append(prints, parity.Fingerprint{Environment: name, Workload: "cpu", Facts: map[string]parity.Fact{
			"machine.system": {Value: facts[0]}, "kernel.release": {Value: facts[1]}, "provider[runc version]": {Value: facts[2]}, "memory.thp": {Value: facts[3]},
		}})
	}
	classes := func() (list []string) {
		c, _ := New(p, prints, nil, unlabelled).Between(subject.Cell{Environment: "memory", Workload: "cpu"}, "usual")
		for _, f := range c.Findings {
			list = append(list, f.Finding+": "+string(f.Class)+" "+strings.Join(f.Asked, ", "))
		}
		return list
	}
	asked := " memory: system.kernel=stock, memory: system.suite=trixie"
	if got := classes(); !slices.Equal(got, []string{"guest's kernel: chosen" + asked, "system of the machine: chosen" + asked, "huge pages: chosen" + asked, "provider: chosen" + asked}) {
		t.Errorf("within a kind: %q", got)
	}
	p.Environments[1].Kind = "docker"
	if got := classes(); !slices.Contains(got, "huge pages: confound"+asked) || !slices.Contains(got, "provider: inherent"+asked) {
		t.Errorf("between two kinds: %q", got)
	}
	p.Environments[1].Kind, p.Environments[2].Inside = p.Environments[2].Kind, &vm
	if got := classes(); !slices.Contains(got, "huge pages: confound ") {
		t.Errorf("without having been asked for: %q", got)
	}
}

func TestAMeaninglessComparisonHasNoVerdictUntilTheStudyAsksForIt(t *testing.T) {
	p := planned(t)
	disk := &p.Workloads[0]
	disk.Pack.Parameters = map[string]workload.Parameter{"direct": {}}
	disk.Levels = nil
	for _, direct := range []string{"0", "1"} {
		disk.Levels = append(disk.Levels, study.Level{Name: "direct=" + direct, Parameters: map[string]string{"direct": direct}})
	}
	p.Environments[1].Kind = "gvisor"
	decided := verdict.Contrast{Environment: "usual", Baseline: "native", Workload: "disk", N: 12, IntervalN: 12, Estimate: .9, Low: .8, High: 1, Middle: .9, Verdict: verdict.Faster}
	judged := func() (all []verdict.Contrast) {
		for _, level := range []string{"direct=0", "direct=1"} {
			c := decided
			c.Level = level
			all = append(all, c)
		}
		return New(p, prints(map[string]string{"native": "ext4", "usual": "9p"}), nil, unlabelled).Mark(all)
	}
	all := judged()
	if c := all[0]; c.Verdict != verdict.Faster || len(c.Warnings) > 0 {
		t.Errorf("with the page cache on both sides: %s %v", c.Verdict, c.Warnings)
	}
	const finding = "direct I/O in the sandbox"
	if c := all[1]; c.Verdict != verdict.None || c.Reason.String() != "not comparable: "+finding || len(c.Warnings) != 1 || c.Bounded() || c.Middle != .9 {
		t.Errorf("with direct I/O: %+v", c)
	}
	p.Accept = []string{finding}
	if c := judged()[1]; c.Verdict != verdict.Faster || len(c.Warnings) > 0 {
		t.Errorf("where the study asks for it: %s %v", c.Verdict, c.Warnings)
	}
}

func TestOnlyContrastsThatAConfoundTouchesAreMarkedAndTheInputStaysAsItWas(t *testing.T) {
	b := New(planned(t), prints(map[string]string{"native": "ext4", "usual": "ext4", "memory": "tmpfs"}), nil, unlabelled)
	var contrasts []verdict.Contrast
	for _, e := range []string{"usual", "memory"} {
		for _, w := range []string{"disk", "cpu"} {
			contrasts = append(contrasts, verdict.Contrast{Environment: e, Baseline: "native", Workload: w, Warnings: make([]verdict.Warning, 0, 4)})
		}
	}
	contrasts = append(contrasts, verdict.Contrast{Environment: "unseen", Baseline: "native", Workload: "disk"})
	for i, c := range b.Mark(contrasts) {
		if touched := c.Environment == "memory" && c.Workload == "disk"; touched != (len(c.Warnings) == 1) {
			t.Errorf("%s under %s: %v", c.Environment, c.Workload, c.Warnings)
		} else if touched && (c.Warnings[0].Code != verdict.Confound || !strings.Contains(c.Warnings[0].String(), "from native: data directory's file system")) {
			t.Errorf("%+v", c.Warnings)
		}
		if len(contrasts[i].Warnings) > 0 || len(contrasts[i].Warnings[:cap(contrasts[i].Warnings)]) > 0 && contrasts[i].Warnings[:1][0].Code != "" {
			t.Error("the contrasts themselves were changed")
		}
	}
}

func TestOfALadderTheTwoEndsAreCompared(t *testing.T) {
	p := planned(t)
	p.Steps = []study.Step{{Part: "data", Environment: "usual", Base: "native"}, {Environment: "memory", Base: "native"}, {Part: "log", Environment: "memory", Base: "usual"}}
	all := New(p, prints(map[string]string{"native": "ext4", "usual": "ext4", "memory": "tmpfs"}), nil, unlabelled).All()
	if len(all) != 2 || all[0].Environment != "memory" || all[0].Baseline != "native" || all[0].Workload != "disk" {
		t.Errorf("%+v", all)
	}
}

// Neither redis-benchmark's number of requests nor the size of nginx's page is in
// any fact of the instance.
func TestAParameterWithoutAFactIsADifference(t *testing.T) {
	for _, c := range []struct{ workload, parameter, usual, own string }{{"redis", "requests", "2000", "3000"}, {"nginx", "page", "1024", "65536"}} {
		p := &study.Plan{Baseline: "native", Environments: []study.Environment{
			{Name: "native", Kind: "native"},
			{Name: "docker", Kind: "docker", With: map[string]map[string]string{c.workload: {c.parameter: c.own}}},
			{Name: "same", Kind: "podman", With: map[string]map[string]string{c.workload: {c.parameter: c.usual}}},
		}, Workloads: []study.Workload{{Name: c.workload, Pack: workload.Pack{Stresses: "network"},
			Levels: []study.Level{{Parameters: map[string]string{c.parameter: c.usual, "threads": "1"}}}}}}
		var prints []parity.Fingerprint
		for _, e := range p.Environments {
			prints = append(prints, parity.Fingerprint{Environment: e.Name, Workload: c.workload})
		}
		b := New(p, prints, nil, unlabelled)
		got, _ := b.Between(subject.Cell{Environment: "docker", Workload: c.workload}, "native")
		want := parity.Difference{Fact: "parameter[" + c.parameter + "]", Baseline: c.usual, Environment: c.own}
		if list := got.Confounds(); len(list) != 1 || list[0].Finding != "parameters" || !slices.Equal(list[0].Differences, []parity.Difference{want}) {
			t.Errorf("%s: %+v", c.workload, list)
		}
		if got, _ := b.Between(subject.Cell{Environment: "same", Workload: c.workload}, "native"); len(got.Findings) > 0 || got.Same != 1 {
			t.Errorf("%s with the usual value: %+v", c.workload, got)
		}
		if prints[0].Facts != nil {
			t.Error("the fingerprint itself was changed")
		}
	}
}

// Where the driver reaches the server is in its command line, as an address that
// the fingerprint has another word for: what the command tells is not told again.
func TestAParameterOfTheDriversCommandGivesOneFinding(t *testing.T) {
	p := &study.Plan{Baseline: "native", Environments: []study.Environment{
		{Name: "native", Kind: "native", With: map[string]map[string]string{"mysql": {"reach": "127.0.0.1", "rows": "9"}}},
		{Name: "docker", Kind: "docker"},
	}, Workloads: []study.Workload{{Name: "mysql", Pack: workload.Pack{Stresses: "disk", Driver: &workload.Step{Run: "at=${reach}; exec drive $at"}},
		Levels: []study.Level{{Parameters: map[string]string{"reach": "instance", "rows": "5"}}}}}}
	prints := []parity.Fingerprint{
		{Environment: "native", Workload: "mysql", Facts: map[string]parity.Fact{"command[driver]": {Value: "at=" + parity.Address + "; exec drive $at"}}},
		{Environment: "docker", Workload: "mysql", Facts: map[string]parity.Fact{"command[driver]": {Value: "at=instance; exec drive $at"}}},
	}
	got, _ := New(p, prints, nil, unlabelled).Between(subject.Cell{Environment: "docker", Workload: "mysql"}, "native")
	told := map[string]string{}
	for _, f := range got.Confounds() {
		for _, d := range f.Differences {
			told[d.Fact] = f.Finding + ", asked for by " + strings.Join(f.Asked, "; ")
		}
	}
	want := map[string]string{"command[driver]": "command line, asked for by native: with.reach=127.0.0.1", "parameter[rows]": "parameters, asked for by native: with.rows=9"}
	if !maps.Equal(told, want) {
		t.Errorf("%v, not %v", told, want)
	}
}

func TestEnvironmentsAreComparedOnOneNodeAndNodesInOneEnvironment(t *testing.T) {
	on := func(node, environment, kernel string) parity.Fingerprint {
		return parity.Fingerprint{Environment: environment, Workload: "disk", Node: node, Facts: map[string]parity.Fact{"node[kernel]": {Value: kernel}}}
	}
	b := New(planned(t), []parity.Fingerprint{on("n1", "usual", "6.1"), on("n2", "memory", "6.8"), on("n2", "usual", "6.8")}, nil, unlabelled)
	c, known := b.Between(subject.Cell{Environment: "memory", Workload: "disk"}, "usual")
	if !known || slices.ContainsFunc(c.Findings, func(f parity.Finding) bool { return f.Finding == "the node" }) {
		t.Errorf("%t, %+v", known, c.Findings)
	}
	n := b.Nodes()
	if len(n.Names) != 2 || len(n.Differ) != 1 || n.Differ[0].Fact != "node[kernel]" || !slices.Equal(n.Differ[0].Environments, []string{"usual"}) {
		t.Errorf("%+v", n)
	}
	if _, known := New(planned(t), []parity.Fingerprint{on("n1", "usual", "6.1"), on("n2", "memory", "6.8")}, nil, unlabelled).Between(subject.Cell{Environment: "memory", Workload: "disk"}, "usual"); known {
		t.Error("environments are compared on two nodes")
	}
}
