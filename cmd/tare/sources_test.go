package main

import (
	"reflect"
	"testing"
	"time"

	"tare/internal/study"
)

// The settings that the sources print, or that their printed results need.
func TestStudiesAskForWhatTheirSourcesPrint(t *testing.T) {
	for _, c := range []struct {
		study, workload string
		levels          int
		pause           time.Duration
		want            map[string]string // of the last level
	}{
		{"aspernas-nensen-2016", "wordpress-jmeter", 1, 0, map[string]string{"users": "100", "workers": "100"}},
		{"aspernas-nensen-2016", "sql-select", 1, 0, map[string]string{"queries": "1", "cold": "1"}},
		{"aspernas-nensen-2016", "fio-randrw", 1, 0, map[string]string{"rwmixread": "75", "gtod_reduce": "1"}},
		{"caiola-2025", "iozone", 2, 0, map[string]string{"smallest": "64k", "file_size": "1G", "flush": "0", "record_size": "256k"}},
		{"caiola-2025", "iperf3", 2, 0, map[string]string{"streams": "2", "seconds": "60"}},
		{"heino-2025", "nginx", 14, 120 * time.Second, map[string]string{"connections": "25000", "worker_connections": "4096", "keepalive_timeout": "65", "timeout": "2"}},
		{"heino-2025", "mysql-oltp", 10, 90 * time.Second, map[string]string{"threads": "2000", "max_connections": "2100"}},
		{"heino-2025-nginx", "nginx", 14, 120 * time.Second, map[string]string{"connections": "25000", "timeout": "2", "seconds": "180"}},
		{"heino-2025-mysql", "mysql", 10, 90 * time.Second, map[string]string{"threads": "2000", "max_connections": "2100", "seconds": "180"}},
		{"heino-2025-redis", "redis", 11, 60 * time.Second, map[string]string{"clients": "5000", "port": "6379", "requests": "1000000", "size": "3"}},
		{"heino-2025", "redis", 11, 60 * time.Second, map[string]string{"clients": "5000"}},
	} {
		plan, err := study.Open(c.study, study.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, w := range plan.Workloads {
			if w.Name != c.workload {
				continue
			}
			found = true
			if len(w.Levels) != c.levels || w.Pause != c.pause {
				t.Errorf("%s: %s has %d levels with rests of %v; want %d and %v", c.study, w.Name, len(w.Levels), w.Pause, c.levels, c.pause)
			}
			for name, want := range c.want {
				if got := w.Levels[len(w.Levels)-1].Parameters[name]; got != want {
					t.Errorf("%s: %s: %s is %q, want %q", c.study, w.Name, name, got, want)
				}
			}
		}
		if !found {
			t.Errorf("%s has no workload %s", c.study, c.workload)
		}
	}
}

// So that tare save needs no scale.
func TestAStudyHasTheSameImagesAtEachOfItsScales(t *testing.T) {
	for _, name := range study.Names() {
		whole, err := study.Open(name, study.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		for _, scale := range whole.Scales {
			plan, err := study.Open(name, study.Overrides{Scale: scale})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(plan.Image, whole.Image) || !reflect.DeepEqual(plan.Images, whole.Images) {
				t.Errorf("%s needs other images at its scale %s", name, scale)
			}
		}
	}
}
