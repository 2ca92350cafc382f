package parse

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tare/internal/base/failing"
)

type fioReport struct {
	Version *string  `json:"fio version"`
	Printed float64  `json:"timestamp_ms"`
	Jobs    []fioJob `json:"jobs"`
}

type fioJob struct {
	Name  string   `json:"jobname"`
	Group int      `json:"groupid"`
	Error *int     `json:"error"`
	Took  float64  `json:"job_runtime"` // ms
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
		N          *float64           `json:"N"` // how many were measured
		Percentile map[string]float64 `json:"percentile"`
		Bins       map[string]float64 `json:"bins"`
	} `json:"clat_ns"`
}

func readFio(r *reading) {
	report := r.fio()
	for _, job := range report.Jobs {
		switch {
		case job.Error == nil || job.Read == nil || job.Write == nil:
			fail("job %q of fio's report has no error, read or write part; with unified_rw_reporting=mixed it has none, run it without", clip(job.Name))
		case *job.Error != 0:
			fail("fio's job %q ended with error %d", clip(job.Name), *job.Error)
		}
		r.fioCount("read", job.Read)
		r.fioCount("write", job.Write)
	}
	if r.fields["operations"] == 0 {
		fail("fio did no operation")
	}
	checkTogether(report.Jobs)
	if len(report.Jobs) > 1 {
		return // percentiles of several jobs cannot be put together
	}
	job := report.Jobs[0]
	for direction, side := range map[string]*fioSide{"read": job.Read, "write": job.Write} {
		if *side.Operations > 0 {
			r.fioLatency(direction, direction+"_", side)
		}
		if *side.Operations == r.fields["operations"] {
			r.fioLatency(direction, "", side)
		}
	}
}

// fioHistograms adds the bins of json+, those of all jobs together. A value is
// in the middle of its bin, in nanoseconds.
func fioHistograms(r *reading) {
	read, write := Histogram{}, Histogram{}
	for _, job := range r.fio().Jobs {
		for side, h := range map[*fioSide]*Histogram{job.Read: &read, job.Write: &write} {
			if *side.Operations == 0 || side.Completion == nil {
				continue
			}
			if len(side.Completion.Bins) == 0 {
				return // not json+
			}
			for text, count := range side.Completion.Bins {
				ns := number(text, text)
				half := fioBin(ns) / 2
				*h = append(*h, Bin{(ns - half) / 1e3, (ns + half) / 1e3, count})
			}
		}
	}
	for _, h := range []Histogram{read, write} {
		slices.SortFunc(h, func(a, b Bin) int { return cmp.Or(cmp.Compare(a.Low, b.Low), cmp.Compare(a.Count, b.Count)) })
	}
	r.histograms = map[string]Histogram{"latency": slices.Concat(read, write), "read_latency": read, "write_latency": write}
}

// fio finds the JSON after the notes that fio may print before it.
func (r *reading) fio() (report fioReport) {
	begin := fioBegin(r.stdout)
	if begin < 0 {
		fail("no JSON of fio (--output-format=json): %s", ending(r.lines))
	}
	failing.If(fioStopped(r.stdout[:begin]))
	decode("fio's JSON", r.stdout[begin:], r.lines, &report)
	if report.Version == nil || !strings.HasPrefix(*report.Version, "fio-3.") {
		fail("the report does not name a fio of version 3")
	}
	if len(report.Jobs) == 0 {
		fail("fio's report has no jobs")
	}
	return report
}

// fioOptions are the options that say what was measured, by fio's own names. Others,
// such as directories, may differ between environments and change nothing.
var fioOptions = strings.Fields("rw rwmixread bs iodepth numjobs ioengine direct fsync fdatasync size runtime rate_iops")

func fioSettings(stdout []byte, _ map[string]string) map[string]string {
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

// fioUnequal is by which factor the times of jobs may differ whose rates are added.
const fioUnequal = 1.1

// checkTogether refuses jobs of which one ran without another: their rates have no sum.
func checkTogether(jobs []fioJob) {
	first := jobs[0]
	for _, job := range jobs[1:] {
		switch {
		case job.Group != first.Group:
			fail("%q in group %d and %q in group %d of fio ran one after the other: their rates have no sum; run each alone, in a file of its own",
				clip(first.Name), first.Group, clip(job.Name), job.Group)
		case max(job.Took, first.Took) > fioUnequal*min(job.Took, first.Took):
			fail("fio's job %q took %v ms and %q %v ms: their rates have no sum; give them the same time, or run each alone",
				clip(first.Name), first.Took, clip(job.Name), job.Took)
		}
	}
}

// fioBegin is where fio's JSON begins, behind its messages and normal output; -1 without.
func fioBegin(text []byte) int {
	for at, line := range eachLine(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "{") {
			return at.begin
		}
	}
	return -1
}

// fioStopped is the error that a run was ended before its time, whose report has no error.
func fioStopped(before []byte) error {
	for _, line := range eachLine(before) {
		if strings.HasPrefix(line, "fio: terminating on signal") {
			return fmt.Errorf("fio reports %q: the run was stopped", clip(line))
		}
	}
	return nil
}

// fioOther begins the terse output, and is the version in the normal one.
var fioOther = expression(`^(?:\d+;fio-\d|fio-\d)`)

// splitFio takes the documents; what is between them belongs to none. With
// --status-interval the last document of a run has what those before it have.
func splitFio(file []byte) ([][]byte, error) {
	var runs [][]byte
	var last fioReport
	for rest := file; ; {
		begin := fioBegin(rest)
		if err := fioStopped(rest[:max(begin, 0)]); err != nil {
			return nil, err
		}
		if begin < 0 && len(runs) == 0 {
			for at, line := range eachLine(file) {
				if fioOther.match(line) {
					return nil, atLine(at.number, fmt.Errorf("%q is of fio's normal or terse output: tare reads its JSON, which has all digits and units; run fio with --output-format=json, or normal,json for both", clip(line)))
				}
			}
			return nil, fmt.Errorf("no JSON of fio (--output-format=json) is in it: %s", ending(lines(file)))
		} else if begin < 0 {
			return runs, nil
		}
		decoder := json.NewDecoder(bytes.NewReader(rest[begin:]))
		var document json.RawMessage
		if err := decoder.Decode(&document); err != nil {
			before := bytes.Count(file[:len(file)-len(rest)+begin], []byte("\n"))
			return nil, atLine(before+1, fmt.Errorf("document %d of the file: %w; %s", len(runs)+1, err, ending(lines(file))))
		}
		var report fioReport
		if err := json.Unmarshal(document, &report); err == nil && report.continues(last) {
			runs = runs[:len(runs)-1]
		}
		runs, last = append(runs, document), report
		rest = rest[begin+int(decoder.InputOffset()):]
	}
}

// continues reports whether a report is a later one of the same run: the run had begun
// long before the earlier one was printed.
func (f fioReport) continues(earlier fioReport) bool {
	if len(earlier.Jobs) == 0 || len(f.Jobs) != len(earlier.Jobs) {
		return false
	}
	took, before := f.Jobs[0].Took, earlier.Jobs[0].Took
	return took > before && f.Jobs[0].Name == earlier.Jobs[0].Name && f.Printed > earlier.Printed && f.Printed-took < earlier.Printed-before/2
}

// fioCount adds what was done in a direction: nothing is absent there, and 0 in the sum.
func (r *reading) fioCount(direction string, side *fioSide) {
	if side.Bandwidth == nil || side.IOPS == nil || side.Operations == nil {
		fail("fio's %s part has no bw_bytes, iops or total_ios", direction)
	}
	for _, prefix := range []string{"", direction + "_"} {
		if prefix == "" || *side.Operations > 0 {
			r.fields[prefix+"iops"] += *side.IOPS
			r.fields[prefix+"bandwidth"] += *side.Bandwidth
			r.fields[prefix+"operations"] += *side.Operations
		}
	}
}

func (r *reading) fioLatency(direction, prefix string, side *fioSide) {
	switch {
	case side.Completion == nil:
		fail("fio's %s part has no clat_ns", direction)
	case side.Completion.N != nil && *side.Completion.N == 0:
		return // with disable_clat none is measured, and 0 printed
	}
	r.fields[prefix+"latency_mean"] = side.Completion.Mean / 1e3
	r.fields[prefix+"latency_max"] = side.Completion.Max / 1e3
	for _, p := range []string{"50", "95", "99"} {
		if v, ok := side.Completion.Percentile[p+".000000"]; ok {
			r.fields[prefix+"latency_p"+p] = v / 1e3
		}
	}
}
