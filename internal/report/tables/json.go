package tables

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/visible"
	"tare/internal/environment"
	"tare/internal/report/model"
)

// Format is the version of the JSON document.
const Format = 1

type runFacts struct {
	Name        string     `json:"name"`
	Study       string     `json:"study"`
	Title       string     `json:"title"`
	Tare        string     `json:"tare"`
	Created     *time.Time `json:"created"`
	Baseline    string     `json:"baseline"`
	Seed        string     `json:"seed"`
	Order       string     `json:"order"`
	Margin      float64    `json:"margin"`
	Confidence  float64    `json:"confidence"`
	Family      string     `json:"family"`
	LeastBlocks int        `json:"blocks_min"`
	MostBlocks  int        `json:"blocks_max"`
	Budget      float64    `json:"budget_s"`
	Blocks      int        `json:"blocks"`
	Incomplete  string     `json:"incomplete"`
	Image       string     `json:"image"`
	Digest      string     `json:"image_digest"`
	CPU         string     `json:"cpu"`
	Cores       int        `json:"cores"`
	Memory      int64      `json:"memory_bytes"`
	Kernel      string     `json:"kernel"`
	System      string     `json:"distribution"`
	Virtualised string     `json:"virtualised"`
	Nodes       []string   `json:"nodes"`
}

type environFact struct {
	Name     string            `json:"name"`
	Kind     string            `json:"kind"`
	Label    string            `json:"label"`
	Baseline bool              `json:"baseline"`
	State    string            `json:"state"`
	Reasons  []string          `json:"reasons"`
	Versions map[string]string `json:"versions"`
}

type workFact struct {
	Name    string       `json:"name"`
	Title   string       `json:"title"`
	Levels  []string     `json:"levels"`
	Metrics []metricFact `json:"metrics"`
}

type metricFact struct {
	Name    string `json:"name"`
	Unit    string `json:"unit"`
	Better  string `json:"better"`
	Primary bool   `json:"primary"`
	About   string `json:"about"`
}

// writeRows writes a table as a list of objects, each in a line and in the order of the
// columns.
func writeRows(out *bytes.Buffer, t Table) error {
	out.WriteByte('[')
	for i, row := range t.Rows {
		if i > 0 {
			out.WriteByte(',')
		}
		for j, cell := range row {
			separator := ", "
			if j == 0 {
				separator = "\n  {"
			}
			value, err := json.Marshal(cell)
			if err != nil {
				return err
			}
			out.WriteString(separator)
			out.WriteString(strconv.Quote(t.Columns[j].Name))
			out.WriteString(": ")
			out.Write(value)
		}
		out.WriteByte('}')
	}
	out.WriteByte(']')
	return nil
}

// JSON writes the run as one document: facts, and a list of rows for each table.
func JSON(v *model.Report) ([]model.File, error) {
	environments, workloads := []environFact{}, []workFact{}
	for _, e := range v.Environments {
		fact := environFact{e.Name, e.Kind, e.Facts.Label, e.Baseline, string(e.Facts.State), []string{}, e.Facts.Versions}
		if fact.Versions == nil {
			fact.Versions = map[string]string{}
		}
		for _, f := range model.NeedingFix(e.Facts.Findings) {
			fact.Reasons = append(fact.Reasons, reasonOf(f))
		}
		environments = append(environments, fact)
	}
	for _, w := range v.Workloads {
		fact := workFact{w.Name, w.Pack.Title, lists.Map(w.Levels, func(l model.Level) string { return l.Name }), []metricFact{}}
		for _, m := range w.AllMetrics() {
			fact.Metrics = append(fact.Metrics, metricFact{m.Name, m.Unit, m.Better, m.Primary, m.About})
		}
		workloads = append(workloads, fact)
	}
	var out bytes.Buffer
	out.WriteString("{")
	for _, fact := range []struct {
		name  string
		value any
	}{{"format", Format}, {"run", factsOf(v)}, {"environments", environments}, {"workloads", workloads}} {
		text, err := json.MarshalIndent(fact.value, " ", " ")
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "\n %q: %s,", fact.name, text)
	}
	for i, t := range Of(v) {
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "\n %q: ", t.Name)
		if err := writeRows(&out, t); err != nil {
			return nil, err
		}
	}
	out.WriteString("\n}\n")
	return []model.File{{Name: "run.json", Data: []byte(visible.JSON(out.String()))}}, nil
}

func reasonOf(f environment.Finding) string {
	if f.Reason == "" {
		return f.What
	}
	return f.What + ": " + f.Reason
}

func factsOf(v *model.Report) runFacts {
	m, d := v.Manifest, v.Plan.Design
	r := runFacts{Name: m.Run, Study: v.Plan.Name, Title: v.Plan.Study, Tare: m.Tare, Baseline: v.Plan.Baseline, Seed: strconv.FormatUint(v.Plan.Seed, 10),
		Order: d.Order, Margin: float64(d.Margin), Confidence: float64(d.Confidence), Family: d.Family, LeastBlocks: d.Blocks.Min, MostBlocks: d.Blocks.Max,
		Budget: d.Budget.Seconds(), Blocks: v.Blocks, Incomplete: v.Incomplete, Image: m.Image.Name, Digest: m.Image.Digest, CPU: m.Machine.CPU, Cores: m.Machine.Cores,
		Memory: int64(m.Machine.Memory), Kernel: m.Machine.Kernel, System: m.Machine.Distribution, Virtualised: m.Machine.Virtualised, Nodes: m.Nodes}
	if !m.Created.IsZero() {
		r.Created = new(m.Created.UTC())
	}
	if r.Nodes == nil { // of a manifest that lists none
		r.Nodes = slices.Sorted(maps.Keys(newBase(v).lanes))
	}
	if r.Nodes == nil {
		r.Nodes = []string{}
	}
	return r
}
