package model_test

import (
	"slices"
	"testing"

	"tare/internal/report/model"
	"tare/internal/usage"
)

func TestProcessesAreMediansOverTheTrialsAndThoseThatTakeMostComeFirst(t *testing.T) {
	part := func(name string, cpu float64, processes int) usage.Part {
		return usage.Part{Role: "server", Name: name, CPU: cpu, Memory: 100, Processes: processes}
	}
	rows := model.ProcessesOf([]*usage.Usage{
		{Parts: []usage.Part{part("redis-server", 8, 1), part("sh", 2, 1), part("brief", .01, 0)}},
		{Parts: []usage.Part{part("redis-server", 10, 1), part("sh", 2, 1), part("once", 9, 1)}},
		{Parts: []usage.Part{part("redis-server", 6, 1), part("sh", 2, 1)}},
		{}, // its parts were not recorded
	})
	want := []model.Process{
		{Role: "server", Name: "redis-server", Count: 1, CPU: 8, Memory: 100, Share: .8},
		{Role: "server", Name: "sh", Count: 1, CPU: 2, Memory: 100, Share: .2},
		{Role: "server", Name: "once", Count: 1, CPU: 0, Memory: 100, Share: 0},
	}
	if !slices.Equal(rows, want) {
		t.Errorf("%+v, not %+v", rows, want)
	}
}
