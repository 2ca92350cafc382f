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

// object is one of JSON whose fields have an order.
type object []field

type field struct {
	name  string
	value any
}

// MarshalJSON writes the fields in their order.
func (o object) MarshalJSON() ([]byte, error) {
	out := []byte("{")
	for i, f := range o {
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(strconv.AppendQuote(out, f.name), ':'), value...)
	}
	return append(out, '}'), nil
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
	environments, workloads := []object{}, []object{}
	for _, e := range v.Environments {
		versions, reasons := e.Facts.Versions, []string{}
		if versions == nil {
			versions = map[string]string{}
		}
		for _, f := range model.NeedingFix(e.Facts.Findings) {
			reasons = append(reasons, reasonOf(f))
		}
		environments = append(environments, object{{"name", e.Name}, {"kind", e.Kind}, {"label", e.Facts.Label}, {"baseline", e.Baseline}, {"state", e.Facts.State}, {"reasons", reasons}, {"versions", versions}})
	}
	for _, w := range v.Workloads {
		metrics := []object{}
		for _, m := range w.AllMetrics() {
			metrics = append(metrics, object{{"name", m.Name}, {"unit", m.Unit}, {"better", m.Better}, {"primary", m.Primary}, {"about", m.About}})
		}
		workloads = append(workloads, object{{"name", w.Name}, {"title", w.Pack.Title}, {"levels", lists.Map(w.Levels, func(l model.Level) string { return l.Name })}, {"metrics", metrics}})
	}
	var out bytes.Buffer
	out.WriteString("{")
	for _, fact := range (object{{"format", Format}, {"run", factsOf(v)}, {"environments", environments}, {"workloads", workloads}}) {
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

func factsOf(v *model.Report) object {
	m, d := v.Manifest, v.Plan.Design
	var created *time.Time
	if !m.Created.IsZero() {
		created = new(m.Created.UTC())
	}
	nodes := m.Nodes
	if nodes == nil { // of a manifest that lists none
		nodes = slices.AppendSeq([]string{}, slices.Values(slices.Sorted(maps.Keys(newBase(v).lanes))))
	}
	return object{
		{"name", m.Run}, {"study", v.Plan.Name}, {"title", v.Plan.Study}, {"tare", m.Tare}, {"created", created}, {"baseline", v.Plan.Baseline},
		{"seed", strconv.FormatUint(v.Plan.Seed, 10)}, {"order", d.Order}, {"margin", float64(d.Margin)}, {"confidence", float64(d.Confidence)}, {"family", d.Family},
		{"blocks_min", d.Blocks.Min}, {"blocks_max", d.Blocks.Max}, {"budget_s", d.Budget.Seconds()}, {"blocks", v.Blocks}, {"incomplete", v.Incomplete},
		{"image", m.Image.Name}, {"image_digest", m.Image.Digest}, {"cpu", m.Machine.CPU}, {"cores", m.Machine.Cores}, {"memory_bytes", int64(m.Machine.Memory)},
		{"kernel", m.Machine.Kernel}, {"distribution", m.Machine.Distribution}, {"virtualised", m.Machine.Virtualised}, {"nodes", nodes},
	}
}
