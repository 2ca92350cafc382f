package instances

import (
	"context"
	"slices"
	"strings"
	"testing"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/study"
	"tare/internal/testing/fakeenv"
)

func TestTheLimitsOfAServiceTakeThePlaceOfTheEnvironments(t *testing.T) {
	all := environment.Limits{CPUs: 2, Memory: quantity.GiB, PIDs: 100, Cores: []int{1}}
	for name, c := range map[string]struct {
		service *study.Service
		memory  quantity.Bytes
		cpus    float64
	}{
		"no service":  {nil, quantity.GiB, 2},
		"no limit":    {&study.Service{}, quantity.GiB, 2},
		"some limits": {&study.Service{Limits: environment.Limits{Memory: quantity.MiB}}, quantity.MiB, 2},
		"all limits":  {&study.Service{Limits: environment.Limits{CPUs: .5, Memory: quantity.MiB, PIDs: 100}}, quantity.MiB, .5},
	} {
		got := (&Instance{service: c.service}).limits(all)
		if got.Memory != c.memory || got.CPUs != c.cpus || got.PIDs != 100 || len(got.Cores) != 1 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestServicesWithoutMountsPassAVolumeOnWithWhatIsSecretInIt(t *testing.T) {
	log := &fakeenv.Log{}
	env := &fakeenv.Environment{Log: log, Script: func(_, command string) fakeenv.Result {
		if strings.Contains(command, "pack") && !strings.Contains(command, "unpack") {
			return fakeenv.Result{Stdout: "the files, with a-secret-value"}
		}
		return fakeenv.Result{}
	}}
	var all []*Instance
	apart := map[string][]*Instance{}
	for _, name := range []string{"first", "second", "other"} {
		started, err := env.Start(t.Context(), environment.Request{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = started.Stop(context.Background()) })
		volume := study.Volume{Name: "pod/settings", To: "/" + name, Passed: true}
		if name == "other" {
			volume.Name = "" // its own
		}
		i := &Instance{Name: name, Instance: started, own: true, service: &study.Service{Name: name, Volumes: []study.Volume{volume}}}
		all, apart[name] = append(all, i), []*Instance{i}
	}
	if err := (Roles{apart: apart}).PassVolumes(t.Context(), all[0]); err != nil {
		t.Fatal(err)
	}
	passed := slices.DeleteFunc(log.Lines(), func(line string) bool { return !strings.Contains(line, "pack") })
	slices.Sort(passed)
	if want := []string{"first: /proc/self/exe pack /first", "second: /proc/self/exe unpack /second"}; !slices.Equal(passed, want) {
		t.Errorf("%q", log.Lines())
	}
	all[0].own = false // it is a mount that both have
	if err := (Roles{apart: apart}).PassVolumes(t.Context(), all[0]); err != nil || len(slices.DeleteFunc(log.Lines(), func(line string) bool { return !strings.Contains(line, "pack") })) != 2 {
		t.Errorf("%q, %v", log.Lines(), err)
	}
}
