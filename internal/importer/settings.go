package importer

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// settings are what tools print about how they ran, by the name of the parser:
// values of two results are comparable only if these agree. Each pattern has one
// group. Other tools have no settings.
var settings = map[string][]setting{
	"sysbench-cpu":     append([]setting{{"prime limit", regexp.MustCompile(`(?m)^Prime numbers limit: (\d+)$`)}}, sysbench...),
	"sysbench-memory":  append([]setting{{"block size", regexp.MustCompile(`(?m)^ +block size: (\S+)$`)}, {"total size", regexp.MustCompile(`(?m)^ +total size: (\S+)$`)}}, sysbench...),
	"sysbench-threads": sysbench,
	"sysbench-fileio":  sysbench,
	"sysbench-oltp":    sysbench,
	"wrk":              {{"threads and connections", regexp.MustCompile(`(?m)^ +(\d+ threads and \d+ connections)$`)}},
	"redis-benchmark":  {{"parallel clients", regexp.MustCompile(`(?m)^ +(\d+) parallel clients`)}},
	"ab":               {{"concurrency", regexp.MustCompile(`(?m)^Concurrency Level: +(\d+)`)}, {"version", regexp.MustCompile(`(?m)^This is ApacheBench, Version (\S+)`)}},
	"hpl":              {{"version", regexp.MustCompile(`(?m)^HPLinpack (\S+)`)}},
}

type setting struct {
	name    string
	pattern *regexp.Regexp
}

var sysbench = []setting{
	{"version", regexp.MustCompile(`(?m)^sysbench (\S+)`)},
	{"threads", regexp.MustCompile(`(?m)^Number of threads: (\d+)$`)},
}

// settingsOf reads the settings in a result, and its identifier: results of client
// and server of the same test have the same.
func settingsOf(parser string, output []byte) (found map[string]string, id string) {
	found = map[string]string{}
	switch parser {
	case "iperf3":
		id = iperf3Settings(output, found)
	case "fio":
		fioSettings(output, found)
	}
	for _, s := range settings[parser] {
		if m := s.pattern.FindSubmatch(output); m != nil {
			found[s.name] = string(m[1])
		}
	}
	return found, id
}

func iperf3Settings(output []byte, into map[string]string) (id string) {
	var report struct {
		Start struct {
			Version    string    `json:"version"`
			Cookie     string    `json:"cookie"`
			Connecting *struct{} `json:"connecting_to"`
			Accepted   *struct{} `json:"accepted_connection"`
			Test       struct {
				Protocol string   `json:"protocol"`
				Streams  *float64 `json:"num_streams"`
				Block    *float64 `json:"blksize"`
				Seconds  *float64 `json:"duration"`
				Reverse  *float64 `json:"reverse"`
			} `json:"test_start"`
		} `json:"start"`
	}
	if json.Unmarshal(output, &report) != nil {
		return "" // the parser reports the error
	}
	s := report.Start
	into["version"], into["protocol"] = s.Version, s.Test.Protocol
	for name, v := range map[string]*float64{"streams": s.Test.Streams, "block size": s.Test.Block, "seconds": s.Test.Seconds, "reverse": s.Test.Reverse} {
		if v != nil {
			into[name] = fmt.Sprintf("%g", *v)
		}
	}
	switch {
	case s.Accepted != nil:
		into[sideSetting] = "server"
	case s.Connecting != nil:
		into[sideSetting] = "client"
	}
	return s.Cookie
}

// sideSetting is the side of a connection that reported the values.
const sideSetting = "side"

func fioSettings(output []byte, into map[string]string) {
	var report struct {
		Version string            `json:"fio version"`
		Global  map[string]string `json:"global options"`
		Jobs    []struct {
			Options map[string]string `json:"job options"`
		} `json:"jobs"`
	}
	start := strings.IndexByte(string(output), '{') // fio may warn before its JSON
	if start < 0 || json.Unmarshal(output[start:], &report) != nil {
		return
	}
	into["version"] = report.Version
	options := []map[string]string{report.Global}
	if len(report.Jobs) > 0 {
		options = append(options, report.Jobs[0].Options)
	}
	for _, o := range options {
		for _, name := range []string{"rw", "bs", "iodepth", "numjobs", "ioengine", "direct", "size", "runtime"} {
			if v, ok := o[name]; ok {
				into[name] = v
			}
		}
	}
}
