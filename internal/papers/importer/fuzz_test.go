package importer

import (
	"bytes"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/base/strictyaml"
	"tare/internal/testing/fuzzing"
	"tare/internal/workload"
	"tare/internal/workload/parse"
)

// FuzzManifest: a manifest is refused with positions, or it is a request whose files
// exist.
func FuzzManifest(f *testing.F) {
	directory := f.TempDir()
	for _, name := range []string{"native-1.txt", "docker-2.txt", "x.json"} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte("content of "+name), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	f.Add("import: x\nbaseline: native\nresults:\n- tool: sysbench-cpu\n  files: ['*.txt']\n  names: '(?P<environment>[a-z]+)-(?P<block>[0-9]).txt'\n")
	f.Add("import: x\nmargin: 5%\nfresh: trial\nenvironments:\n  a: {kind: docker, label: l}\n  b:\nresults:\n- {tool: wrk, environment: a, files: [native-1.txt], taken: 2026-01-02T03:04:05Z, place: 1, level: {c: 1}}\n- {tool: wrk, environment: b, files: [docker-2.txt], metrics: [{name: latency_mean}]}\n")
	f.Add("import: x\nresults:\n- {tool: iperf3, environment: a, files: [x.json], time_in: start.t, begins: '^x', levels: [streams, side], zone: UTC, time_layout: '2006', workload: w}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "..") || strings.Contains(text, "/") {
			t.Skip("names other files")
		}
		fuzzing.Allocates(t, 64<<20+uint64(len(text))*20_000, func() {
			r, err := decodeManifest(filepath.Join(directory, "m.yaml"), []byte(text))
			if (r == nil) == (err == nil) && err == nil {
				t.Fatal("neither a request nor an error")
			}
			var problems strictyaml.Problems
			if errors.As(err, &problems) && !strings.Contains(err.Error(), "m.yaml") {
				t.Errorf("the error names no file: %v", err)
			}
			if err != nil {
				return
			}
			for _, b := range r.Batches {
				for _, file := range b.Files {
					if _, err := os.Stat(file.Path); err != nil || file.Environment == "" {
						t.Errorf("%+v: %v", file, err)
					}
				}
			}
		})
	})
}

// FuzzLogs: a file of any tool's output is results with finite figures, or each that is
// not says where and why.
func FuzzLogs(f *testing.F) {
	var packs []workload.Pack // looked up once, since that reads every built-in pack
	for n, tool := range parse.Names() {
		pack, err := lookUp(tool)
		if err != nil {
			f.Fatal(err)
		}
		packs = append(packs, pack)
		samples, _ := filepath.Glob("../../workload/parse/testdata/" + tool + "/*")
		for _, sample := range samples[:min(len(samples), 2)] {
			if data, err := os.ReadFile(sample); err == nil && len(data) < 20_000 {
				f.Add(uint8(n), data)
			}
		}
		f.Add(uint8(n), []byte("{}"))
	}
	path := filepath.Join(f.TempDir(), "log")
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		pack := packs[int(which)%len(packs)]
		r := Request{SkipBad: true, Batches: []Batch{{Tool: pack.Name, Pack: pack, Workload: "w", Files: []File{{Path: path, Environment: "a"}}}}}
		fuzzing.Allocates(t, 64<<20+uint64(len(data))*20_000, func() {
			contents, err := r.readAll()
			if err != nil {
				if !strings.Contains(err.Error(), path) {
					t.Errorf("the error names no file: %v", err)
				}
				return
			}
			lines := bytes.Count(data, []byte("\n")) + 1
			for _, one := range contents[0].results {
				if one.line < 1 || one.line > lines {
					t.Errorf("a result begins in line %d of %d", one.line, lines)
				}
				for name, v := range one.metrics {
					if math.IsNaN(v) || math.IsInf(v, 0) {
						t.Errorf("%s is %v", name, v)
					}
				}
			}
			// With all that the first result says as levels, every result has a level.
			names := slices.Collect(maps.Keys(contents[0].results[0].settings))
			r.Batches[0].Levels = names
			if contents, err = r.readAll(); err != nil {
				t.Fatal(err)
			}
			for _, one := range contents[0].results {
				if len(one.parameters) != len(names) || one.level != levelName(one.parameters) {
					t.Errorf("the level %q has %v, of %v", one.level, one.parameters, names)
				}
				for name, value := range one.parameters {
					if value != one.settings[name] && one.failed == "" || unfit(value) != "" {
						t.Errorf("%s is %q, and in the level %q", name, one.settings[name], value)
					}
				}
			}
		})
	})
}
