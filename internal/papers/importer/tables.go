package importer

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/papers/table"
	"tare/internal/study"
	"tare/internal/workload"
)

// TableTool is the tool of files that are tables, and of those that package table reads as
// such.
const TableTool = "table"

// tableCell is where values of a metric are repetitions of each other.
type tableCell struct {
	level  string
	block  int
	metric string
}

// Tables is the request for the values of tables. The environment, the levels and the blocks
// are those that the columns say.
func (s Single) Tables(files []table.File, c table.Columns) (*Request, error) {
	wanted, err := parseMetrics(s.Metrics)
	if err != nil {
		return nil, err
	}
	r := &Request{Title: s.Title, Baseline: s.Baseline, Confidence: study.DefaultConfidence, Fresh: s.Fresh, SkipBad: s.SkipBad}
	if r.Margin, err = quantity.ParseShare(s.Margin); err != nil {
		return nil, fmt.Errorf("--margin: %w", err)
	}
	r.Interleaved = s.Interleaved
	blocks, err := r.addTables(files, c, wanted, s.Workload)
	if err != nil {
		return nil, err
	}
	r.Interleaved = r.Interleaved || blocks
	return r, r.Check()
}

// addTables adds the values of tables. blocks reports whether they say which ones belong
// together.
func (r *Request) addTables(files []table.File, c table.Columns, wanted []workload.Metric, name string) (blocks bool, err error) {
	records, err := table.Read(files, c)
	if err != nil {
		return false, err
	}
	metrics, err := metricsOf(records, wanted)
	if err != nil {
		return false, err
	}
	had := len(r.contents)
	numbers := records.Numbers()
	for i := range records.All {
		one := &records.All[i]
		if _, is := metrics[one.Metric]; is {
			one.Workload = cmp.Or(one.Workload, name, TableTool)
			r.take(one, records.File(*one), metrics, numbers)
		}
	}
	for _, content := range r.contents[had:] {
		f := lists.Find(files, func(f *table.File) bool { return f.Name == content.Path })
		sum := sha256.Sum256(f.Data)
		content.data, content.sum = f.Data, hex.EncodeToString(sum[:])
		b := r.tableBatch(content.of)
		b.Pack.Metrics[0].Primary = true
		b.Files = append(b.Files, content.File)
	}
	return records.Blocks, nil
}

// tableBatch is the batch of the tables about a workload; nil if there is none yet.
func (r *Request) tableBatch(name string) *Batch {
	return lists.Find(r.Batches, func(b *Batch) bool { return b.Tool == TableTool && b.Workload == name })
}

// take adds a value to the results of its file, environment and workload: to the first one of
// its level and block that lacks its metric.
func (r *Request) take(one *table.Record, file string, metrics map[string]workload.Metric, numbers map[string]int) {
	b := r.tableBatch(one.Workload)
	if b == nil {
		r.Batches = append(r.Batches, Batch{Tool: TableTool, Workload: one.Workload, Pack: workload.Pack{Name: one.Workload, Title: "values of " + file}})
		b = &r.Batches[len(r.Batches)-1]
	}
	metric := metrics[one.Metric]
	if b.Pack.Metric(metric.Name) == nil {
		b.Pack.Metrics = append(b.Pack.Metrics, metric)
	}
	at := slices.IndexFunc(r.contents, func(c *content) bool {
		return c.Path == file && c.Environment == one.Environment && c.of == one.Workload
	})
	if at < 0 {
		at = len(r.contents)
		r.contents = append(r.contents, &content{File: File{Path: file, Environment: one.Environment}, of: one.Workload})
	}
	c := r.contents[at]
	if c.at == nil {
		c.at, c.had = map[tableCell][]int{}, map[tableCell]int{}
	}
	cell := tableCell{level: one.Level, block: numbers[one.Block]}
	of := tableCell{cell.level, cell.block, metric.Name}
	if c.had[of]++; c.had[of] > len(c.at[cell]) {
		c.at[cell] = append(c.at[cell], len(c.results))
		c.results = append(c.results, result{level: one.Level, parameters: one.Parameters, block: cell.block, line: one.Line, metrics: map[string]float64{}, missing: map[string]string{}})
	}
	into := &c.results[c.at[cell][c.had[of]-1]]
	if one.None {
		into.missing[metric.Name] = "its cell has no value"
		into.failed = fmt.Sprintf("%s: its cell has no value", metric.Name)
	} else {
		into.metrics[metric.Name] = one.Value
	}
}

var noIdentifier = regexp.MustCompile(`[^a-z0-9]+`)

// identifier is the name of a metric as those of packs are written: requests_per_second.
func identifier(name string) string {
	return cmp.Or(strings.Trim(noIdentifier.ReplaceAllString(strings.ToLower(name), "_"), "_"), "value")
}

// unitsOf are the units of Go's benchmarks as packs write them.
var unitsOf = map[string]string{"sec/op": "s", "B/op": "B", "allocs/op": "1"}

// metricsOf are the metrics of some records, by their names in the table. Those whose direction
// nothing says are left out if others have one.
func metricsOf(records *table.Records, wanted []workload.Metric) (map[string]workload.Metric, error) {
	all := map[string]workload.Metric{}
	var unknown []string
	for _, one := range records.All {
		if _, known := all[one.Metric]; known || slices.Contains(unknown, one.Metric) {
			continue
		}
		m := workload.Metric{Name: identifier(one.Metric), Unit: one.Unit, Better: one.Better}
		if m.Unit == "" && direction(one.Metric) != "" { // a column that is called ms
			m.Unit = one.Metric
		}
		m.Unit = cmp.Or(unitsOf[m.Unit], m.Unit)
		asked := lists.Find(wanted, func(w *workload.Metric) bool { return w.Name == m.Name || w.Name == one.Metric })
		if asked != nil {
			m.Unit, m.Better = cmp.Or(asked.Unit, m.Unit), cmp.Or(asked.Better, m.Better)
		}
		m.Better = cmp.Or(m.Better, direction(m.Unit))
		switch m.Unit = cmp.Or(m.Unit, "1"); {
		case len(wanted) > 0 && asked == nil:
		case m.Better == "":
			unknown = append(unknown, one.Metric)
		default:
			all[one.Metric] = m
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s: is lower or higher better? Choose metrics with --metric NAME:lower or NAME:higher, of %s",
			records.Name, strings.Join(lists.Map(unknown, identifier), ", "))
	}
	return all, nil
}
