package parse

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

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

func readFio(r *reading) {
	report := r.fio()
	for _, job := range report.Jobs {
		switch {
		case job.Error == nil || job.Read == nil || job.Write == nil:
			fail("job %q of fio's report has no error, read or write part", clip(job.Name))
		case *job.Error != 0:
			fail("fio's job %q ended with error %d", clip(job.Name), *job.Error)
		}
		r.fioCount("read", job.Read)
		r.fioCount("write", job.Write)
	}
	if r.fields["operations"] == 0 {
		fail("fio did no operation")
	}
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
	rest := r.stdout
	for {
		line, after, found := bytes.Cut(rest, []byte("\n"))
		if text := strings.TrimSpace(string(line)); !found || text == "{" {
			break
		} else if text != "" && !fioNote(text) {
			fail("%q instead of fio's JSON", clip(text))
		}
		rest = after
	}
	decode("fio's JSON", rest, r.lines, &report)
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

func fioNote(line string) bool {
	return strings.HasPrefix(line, "fio:") || strings.HasPrefix(line, "note:")
}

// splitFio splits where a document begins; fio's notes belong to none.
func splitFio(file []byte) ([][]byte, error) { return splitJSON(without(file, fioNote)) }

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
	if side.Completion == nil {
		fail("fio's %s part has no clat_ns", direction)
	}
	r.fields[prefix+"latency_mean"] = side.Completion.Mean / 1e3
	r.fields[prefix+"latency_max"] = side.Completion.Max / 1e3
	for _, p := range []string{"50", "95", "99"} {
		if v, ok := side.Completion.Percentile[p+".000000"]; ok {
			r.fields[prefix+"latency_p"+p] = v / 1e3
		}
	}
}
