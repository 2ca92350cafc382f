package workload

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheImagesServerTakesThePlaceOfThePacks(t *testing.T) {
	for name, c := range map[string]struct {
		ready      string
		parameters []string
	}{
		"nginx":           {"http://10.0.0.2:80/", []string{"connections", "path", "port", "requests", "seconds", "threads", "timeout"}},
		"redis":           {"10.0.0.2:80", []string{"clients", "pipeline", "port", "requests", "size", "tests", "warmup", "seconds"}},
		"mysql-oltp":      {"10.0.0.2:80", []string{"database", "events", "port", "seconds", "table_size", "tables", "test", "threads", "user"}},
		"postgres":        {"10.0.0.2:80", []string{"clients", "database", "port", "protocol", "rate", "scale", "seconds", "test", "threads", "transactions", "user"}},
		"startup-service": {"http://10.0.0.2:80/", []string{"path", "port"}},
	} {
		own, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		p, err := own.ServedByImage()
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(c.parameters)
		if d := cmp.Diff(c.parameters, slices.Sorted(maps.Keys(p.Parameters))); d != "" {
			t.Errorf("%s: parameters: want - got +:\n%s", name, d)
		}
		metrics := own.Metrics
		if !own.FromStart() { // the driver is elsewhere: the memory is the server's
			metrics = append(slices.Clone(metrics), p.Metrics[len(p.Metrics)-1])
			if last := metrics[len(metrics)-1]; last.Name != "memory" || last.FieldName() != MemoryMean {
				t.Errorf("%s: the last metric is %+v", name, last)
			}
		}
		if d := cmp.Diff(metrics, p.Metrics); d != "" || own.Operations != p.Operations {
			t.Errorf("%s measures something else: %s", name, d)
		}
		got, err := p.With(map[string]string{"port": "80"}, InstanceVars{Roles: map[string][]string{"server": {"10.0.0.2"}, "database": {"10.0.0.2"}}})
		if err != nil {
			t.Fatal(err)
		}
		server := got.Servers[0]
		if len(got.Servers) != 1 || !server.Entrypoint || server.Run != "" || server.Ready.TCP+server.Ready.HTTP != c.ready {
			t.Errorf("%s: %+v", name, got.Servers)
		}
		if place := got.Place(got.Driver.Role); place != OnHost || !got.InOwnImage(got.Driver.Role) {
			t.Errorf("%s: the driver is %s", name, place)
		}
		for _, s := range got.steps() {
			if s.Role != got.Driver.Role && !s.Entrypoint {
				t.Errorf("%s: a step of the pack's own server is left: %+v", name, s)
			}
		}
	}
}

func TestAPackWithoutOneServerCannotUseTheImages(t *testing.T) {
	for name, want := range map[string]string{
		"sysbench-cpu": "has no server", "wordpress-ab": "several roles", "cassandra": "several servers", "startup": "has no server",
	} {
		p, err := Builtin(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.ServedByImage(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
