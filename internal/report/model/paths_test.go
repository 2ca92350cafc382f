package model_test

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/study"
	"tare/internal/testing/reporttest"
)

func TestEnvironmentsWithTheSamePathsShareARow(t *testing.T) {
	in := reporttest.Quick()
	for i := range in.Trials {
		if in.Trials[i].Paths != nil && in.Trials[i].Environment != "vm" {
			in.Trials[i].Paths = reporttest.Paths("native")
		}
	}
	names := lists.Map(model.New(in).SharedPaths(), func(w model.SharedPaths) string {
		return strings.Join(lists.Map(w.Environments, func(e model.Environment) string { return e.Shown }), "; ")
	})
	if !slices.Equal(names, []string{"native; docker; gvisor", "vm [tcg]"}) {
		t.Errorf("%q", names)
	}
}

func TestDifferentDisksGiveAWarning(t *testing.T) {
	in := reporttest.Quick()
	const want = "WARNING: root file systems: on different file systems of the host, so the comparison includes the disks: ext4 on nvme0n1p2 (native, vm [tcg]); xfs on nvme1n1 (docker, gvisor)"
	if have := warnings(in); !slices.Equal(have, []string{want}) {
		t.Errorf("%q", have)
	}
	for i := range in.Trials {
		if in.Trials[i].Paths != nil {
			in.Trials[i].Paths = reporttest.Paths("native")
		}
	}
	if have := warnings(in); have != nil {
		t.Errorf("of the same disks everywhere: %q", have)
	}
}

func TestDifferentMachinesGiveAWarning(t *testing.T) {
	in := reporttest.Quick()
	for i := range in.Trials {
		in.Trials[i].Paths = nil
	}
	in.Plan.Hosts = map[string]study.Host{"far": {SSH: "ubuntu@192.0.2.7"}}
	for i := range in.Plan.Environments {
		switch e := &in.Plan.Environments[i]; e.Name {
		case "docker", "podman": // podman did not work there
			e.Host = "far"
		case "gvisor":
			e.Inside = &study.Environment{Name: "outer", Host: "far"}
		}
	}
	const want = "WARNING: docker, gvisor run on host far, native on this machine: the comparison includes the machines"
	if have := warnings(in); !slices.Equal(have, []string{want}) {
		t.Errorf("%q", have)
	}
	if ways := model.New(in).SharedPaths(); len(ways) != 1 || ways[0].Environments[0].On != "host far (ubuntu@192.0.2.7)" {
		t.Errorf("%+v", ways)
	}
	for i := range in.Plan.Environments {
		in.Plan.Environments[i].Host, in.Plan.Environments[i].Inside = "far", nil
	}
	if have := warnings(in); have != nil {
		t.Errorf("of one machine, whichever it is: %q", have)
	}
}

// warnings are the notes of a run that are warnings.
func warnings(in model.Input) []string {
	return lists.Filter(lists.Map(model.New(in).Notes, model.Note.String), func(text string) bool { return strings.HasPrefix(text, "WARNING: ") })
}
