package instances

import (
	"testing"

	"tare/internal/environment"
	"tare/internal/quantity"
	"tare/internal/study"
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
