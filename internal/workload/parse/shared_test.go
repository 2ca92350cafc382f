package parse

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What the author of a published study recorded on five platforms, ten repeats a
// file; it is no part of the project.
func TestPublishedRawLogsAreRead(t *testing.T) {
	directory := os.Getenv("TARE_SHARED_DATA")
	if directory == "" {
		directory = filepath.Join("..", "..", "..", "..", "shared", "data")
	}
	directory = filepath.Join(directory, "karna-2021")
	if _, err := os.Stat(directory); err != nil {
		t.Skipf("needs the raw logs of karna-2021 (TARE_SHARED_DATA=FOLDER): %v", err)
	}
	for _, c := range []struct{ files, parser, field string }{
		{"cpu/*.log", "sysbench-cpu", "events_per_second"},
		{"boot/*.log", "boot-times", "real_seconds"},
		{"network/*bandwidth.log", "iperf3", "bandwidth_sent"},
		{"network/*bandwidth-server.log", "iperf3", "bandwidth_received"},
		{"network/*jitter.log", "iperf3", "jitter_ms"},
		{"network/*jitter-server.log", "iperf3", "jitter_ms"},
	} {
		files, _ := filepath.Glob(filepath.Join(directory, c.files))
		if len(files) != 5 {
			t.Errorf("%s: %d platforms", c.files, len(files))
		}
		p, _ := Lookup(c.parser)
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			runs, err := p.Split(data)
			if err != nil || len(runs) != 10 {
				t.Errorf("%s: %d runs: %v", filepath.Base(file), len(runs), err)
			}
			var values []string
			for _, run := range runs {
				fields, err := p.Parse(run)
				if v, ok := fields[c.field]; err != nil || !ok || v <= 0 {
					t.Errorf("%s: no %s: %v", filepath.Base(file), c.field, err)
				} else {
					values = append(values, fmt.Sprintf("%.5g", v))
				}
			}
			t.Logf("%s, %s: %s", filepath.Base(file), c.field, strings.Join(values, " "))
		}
	}
}
