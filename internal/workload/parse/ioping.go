package parse

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
)

var ioping = Parser{
	Name:     "ioping",
	About:    "ioping -J or -B; the first request is a warm-up and is not included",
	Versions: "1.3",
	Fields: []Field{
		{"requests", "op"}, {"seconds", "s"}, {"iops", "op/s"}, {"bandwidth", "B/s"},
		{"latency_min", "us"}, {"latency_mean", "us"}, {"latency_max", "us"}, {"latency_stdev", "us"},
	},
	Parse:    parseIOPing,
	Split:    splitIOPing,
	Settings: settingsAt(map[string]string{"operation": "io.operation", "size": "io.size"}), // of the first request: all are alike
}

// ioping's raw statistics: requests, their time, requests per second, bytes per
// second, minimum, mean, maximum and standard deviation of the time; then all
// requests and the total time, including pauses. Times in nanoseconds.
var iopingRaw = regexp.MustCompile(`^\d+( \d+){9}$`)

type iopingEntry struct {
	IO   *struct{} `json:"io"`
	Stat *struct {
		Count     *float64 `json:"count"`
		Time      *float64 `json:"time"`
		IOPS      *float64 `json:"iops"`
		Bandwidth *float64 `json:"bps"`
		Min       *float64 `json:"min"`
		Mean      *float64 `json:"avg"`
		Max       *float64 `json:"max"`
		Deviation *float64 `json:"mdev"`
	} `json:"stat"`
}

func parseIOPing(stdout []byte) (map[string]float64, error) {
	if bytes.HasPrefix(stdout, []byte("[")) {
		return parseIOPingJSON(stdout)
	}
	if err := endsWithALine(stdout); err != nil {
		return nil, err
	}
	all := lines(stdout)
	if !iopingRaw.MatchString(all[0]) {
		return nil, fmt.Errorf("%q is neither what ioping -B prints nor the beginning of -J", clip(all[0]))
	}
	for _, line := range all[1:] {
		if line != "" {
			return nil, fmt.Errorf("a second line after that of ioping -B: %q", clip(line))
		}
	}
	var values []*float64
	for _, text := range strings.Fields(all[0])[:8] {
		v, err := number(text, all[0])
		if err != nil {
			return nil, err
		}
		values = append(values, &v)
	}
	return iopingFigures(values)
}

func parseIOPingJSON(stdout []byte) (map[string]float64, error) {
	var entries []iopingEntry
	if err := decode("ioping's JSON", stdout, &entries); err != nil {
		return nil, err
	}
	for i, e := range entries {
		if last := i == len(entries)-1; (e.Stat != nil) != last || (e.IO != nil) == last {
			return nil, fmt.Errorf("entry %d of ioping's JSON is not what 1.3 prints: requests come first, their statistics last", i+1)
		}
	}
	if len(entries) == 0 {
		return nil, fmt.Errorf("ioping's JSON has no entry")
	}
	s := entries[len(entries)-1].Stat
	return iopingFigures([]*float64{s.Count, s.Time, s.IOPS, s.Bandwidth, s.Min, s.Mean, s.Max, s.Deviation})
}

func iopingFigures(values []*float64) (map[string]float64, error) {
	fields := map[string]float64{}
	for i, name := range []string{"requests", "seconds", "iops", "bandwidth", "latency_min", "latency_mean", "latency_max", "latency_stdev"} {
		if values[i] == nil {
			return nil, fmt.Errorf("ioping's statistics have no %s", strings.ReplaceAll(name, "_", " "))
		}
		fields[name] = *values[i]
		if strings.HasPrefix(name, "latency_") {
			fields[name] /= 1e3
		}
	}
	fields["seconds"] /= 1e9
	if fields["requests"] == 0 {
		return nil, fmt.Errorf("ioping counted no request; the first one is only its warm-up")
	}
	return fields, nil
}

func splitIOPing(file []byte) ([][]byte, error) {
	if bytes.HasPrefix(bytes.TrimSpace(file), []byte("[")) {
		return splitJSON(file)
	}
	return splitAt(file, iopingRaw.MatchString)
}
