package parse

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
)

var fio = Parser{
	Name:     "fio",
	About:    "fio --output-format=json or json+, which adds the distributions of latencies; latencies are completion latencies; with several jobs only counts, rates and distributions",
	Versions: "3.33",
	Fields:   fioFields(),
	Parse:    parseFio,
	Split:    splitFio,
	Settings: fioSettings,

	Distributions: []Field{{"latency", "us"}, {"read_latency", "us"}, {"write_latency", "us"}},
	Histograms:    fioHistograms,
}

func fioFields() []Field {
	var fields []Field
	for _, direction := range []string{"", "read_", "write_"} {
		fields = append(fields,
			Field{direction + "iops", "op/s"}, Field{direction + "bandwidth", "B/s"}, Field{direction + "operations", "op"},
			Field{direction + "latency_mean", "us"}, Field{direction + "latency_max", "us"},
			Field{direction + "latency_p50", "us"}, Field{direction + "latency_p95", "us"}, Field{direction + "latency_p99", "us"})
	}
	return fields
}

type fioReport struct {
	Version *string  `json:"fio version"`
	Jobs    []fioJob `json:"jobs"`
}

type fioJob struct {
	Name  string   `json:"jobname"`
	Error *int     `json:"error"`
	Read  *fioSide `json:"read"`
	Write *fioSide `json:"write"`
}

type fioSide struct {
	Bandwidth  *float64 `json:"bw_bytes"`
	IOPS       *float64 `json:"iops"`
	Operations *float64 `json:"total_ios"`
	Completion *struct {
		Mean       float64            `json:"mean"`
		Max        float64            `json:"max"`
		Percentile map[string]float64 `json:"percentile"`
		Bins       map[string]float64 `json:"bins"`
	} `json:"clat_ns"`
}

func parseFio(stdout []byte) (map[string]float64, error) {
	report, err := fioDocument(stdout)
	if err != nil {
		return nil, err
	}
	fields := map[string]float64{}
	for _, job := range report.Jobs {
		switch {
		case job.Error == nil || job.Read == nil || job.Write == nil:
			return nil, fmt.Errorf("job %q of fio's report has no error, read or write part", clip(job.Name))
		case *job.Error != 0:
			return nil, fmt.Errorf("fio's job %q ended with error %d", clip(job.Name), *job.Error)
		}
		if err := fioCount(fields, "read_", job.Read); err != nil {
			return nil, err
		}
		if err := fioCount(fields, "write_", job.Write); err != nil {
			return nil, err
		}
	}
	if fields["operations"] == 0 {
		return nil, fmt.Errorf("fio did no operation")
	}
	if len(report.Jobs) > 1 {
		return fields, nil // percentiles of several jobs cannot be put together
	}
	job := report.Jobs[0]
	for direction, side := range map[string]*fioSide{"read_": job.Read, "write_": job.Write} {
		if *side.Operations == 0 {
			continue
		}
		if err := fioLatency(fields, direction, side); err != nil {
			return nil, err
		}
		if *side.Operations == fields["operations"] {
			if err := fioLatency(fields, "", side); err != nil {
				return nil, err
			}
		}
	}
	return fields, nil
}

// fioHistograms returns the bins of json+, those of all jobs together. A value is
// in the middle of its bin, in nanoseconds.
func fioHistograms(stdout []byte) (map[string]Histogram, error) {
	report, err := fioDocument(stdout)
	if err != nil {
		return nil, err
	}
	read, write := Histogram{}, Histogram{}
	for _, job := range report.Jobs {
		for side, h := range map[*fioSide]*Histogram{job.Read: &read, job.Write: &write} {
			if side == nil || side.Completion == nil || side.Operations == nil || *side.Operations == 0 {
				continue
			}
			if len(side.Completion.Bins) == 0 {
				return nil, nil // not json+
			}
			for text, count := range side.Completion.Bins {
				ns, err := number(text, text)
				if err != nil {
					return nil, err
				}
				half := fioBin(ns) / 2
				*h = append(*h, Bin{(ns - half) / 1e3, (ns + half) / 1e3, count})
			}
		}
	}
	for _, h := range []Histogram{read, write} {
		slices.SortFunc(h, func(a, b Bin) int { return cmp.Or(cmp.Compare(a.Low, b.Low), cmp.Compare(a.Count, b.Count)) })
	}
	return map[string]Histogram{"latency": slices.Concat(read, write), "read_latency": read, "write_latency": write}, nil
}

// fioBin is the width of the bin that has a value: each power of two is divided
// into 64 bins, or into its whole numbers if those are fewer.
func fioBin(ns float64) float64 {
	if ns < 128 {
		return 0
	}
	return math.Ldexp(1, math.Ilogb(ns)-6)
}

// fioDocument finds the JSON after the notes that fio may print before it.
func fioDocument(stdout []byte) (*fioReport, error) {
	all := stdout
	for {
		line, rest, found := bytes.Cut(stdout, []byte("\n"))
		if text := strings.TrimSpace(string(line)); !found || text == "{" {
			break
		} else if text != "" && !fioNote(text) {
			return nil, fmt.Errorf("%q instead of fio's JSON", clip(text))
		}
		stdout = rest
	}
	var report fioReport
	decoder := json.NewDecoder(bytes.NewReader(stdout))
	if err := decoder.Decode(&report); err != nil {
		return nil, fmt.Errorf("fio's JSON: %w; %s", err, ending(lines(all)))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("unexpected text after fio's JSON: %s", ending(lines(all)))
	}
	if report.Version == nil || !strings.HasPrefix(*report.Version, "fio-3.") {
		return nil, fmt.Errorf("the report does not name a fio of version 3")
	}
	if len(report.Jobs) == 0 {
		return nil, fmt.Errorf("fio's report has no jobs")
	}
	return &report, nil
}

// fioOptions are the options that say what was measured, by fio's own names. Others,
// such as directories, may differ between environments and change nothing.
var fioOptions = []string{"rw", "rwmixread", "bs", "iodepth", "numjobs", "ioengine", "direct", "fsync", "fdatasync", "size", "runtime", "rate_iops"}

func fioSettings(stdout []byte) map[string]string {
	var report struct {
		Version string            `json:"fio version"`
		Global  map[string]string `json:"global options"`
		Jobs    []struct {
			Name    string            `json:"jobname"`
			Options map[string]string `json:"job options"`
		} `json:"jobs"`
	}
	if !documentIn(stdout, &report) {
		return nil
	}
	found := settingValues{}
	found.add("version", report.Version)
	for _, job := range report.Jobs {
		found.add("job", job.Name)
		for _, name := range fioOptions {
			found.add(name, cmp.Or(job.Options[name], report.Global[name]))
		}
	}
	return found.joined()
}

func fioNote(line string) bool {
	return strings.HasPrefix(line, "fio:") || strings.HasPrefix(line, "note:")
}

// splitFio splits where a document begins; fio's notes belong to none.
func splitFio(file []byte) ([][]byte, error) {
	var documents []byte
	for at := 0; at < len(file); {
		end, line := nextLine(file, at)
		if !fioNote(line) {
			documents = append(documents, file[at:end]...)
		}
		at = end
	}
	return splitJSON(documents)
}

func fioCount(fields map[string]float64, direction string, side *fioSide) error {
	if side.Bandwidth == nil || side.IOPS == nil || side.Operations == nil {
		return fmt.Errorf("fio's %s part has no bw_bytes, iops or total_ios", strings.TrimSuffix(direction, "_"))
	}
	for _, prefix := range []string{"", direction} {
		if prefix != "" && *side.Operations == 0 {
			continue // nothing was done in this direction: absent
		}
		fields[prefix+"iops"] += *side.IOPS
		fields[prefix+"bandwidth"] += *side.Bandwidth
		fields[prefix+"operations"] += *side.Operations
	}
	return nil
}

func fioLatency(fields map[string]float64, direction string, side *fioSide) error {
	if side.Completion == nil {
		return fmt.Errorf("fio's %s part has no clat_ns", strings.TrimSuffix(direction, "_"))
	}
	fields[direction+"latency_mean"] = side.Completion.Mean / 1e3
	fields[direction+"latency_max"] = side.Completion.Max / 1e3
	for name, key := range map[string]string{"p50": "50.000000", "p95": "95.000000", "p99": "99.000000"} {
		if v, ok := side.Completion.Percentile[key]; ok {
			fields[direction+"latency_"+name] = v / 1e3
		}
	}
	return nil
}
