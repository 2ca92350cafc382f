package importer

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/internal/papers/table"
	"tare/internal/study"
	"tare/internal/workload"
)

// document is the form of a manifest. The environments are decoded from their node,
// to keep the order of the file.
type document struct {
	Import       string         `yaml:"import"`
	Baseline     string         `yaml:"baseline"`
	Machine      string         `yaml:"machine"`
	Margin       quantity.Share `yaml:"margin"`
	Confidence   quantity.Share `yaml:"confidence"`
	Interleaved  bool           `yaml:"interleaved"`
	Fresh        string         `yaml:"fresh"`
	SkipBad      bool           `yaml:"skip_bad"`
	Environments described      `yaml:"environments"`
	Results      []batch        `yaml:"results"`
}

// described are the environments of a manifest.
type described []Environment

type environmentSection struct {
	Kind  string `yaml:"kind"`
	Label string `yaml:"label"`
	About string `yaml:"about"`
}

// DecodeNode reads the environments in the order of the file.
func (d *described) DecodeNode(n strictyaml.Node) {
	for _, p := range n.Pairs() {
		var s environmentSection
		if !p.Value.IsNull() {
			p.Value.Decode(&s)
		}
		*d = append(*d, Environment{Name: p.Key, Kind: s.Kind, Label: s.Label, About: s.About})
	}
}

// batch is one entry of results.
type batch struct {
	Workload    string            `yaml:"workload"`
	Tool        string            `yaml:"tool"`
	Metrics     []workload.Metric `yaml:"metrics"`
	Begins      string            `yaml:"begins"`
	TimeIn      string            `yaml:"time_in"`
	Level       map[string]string `yaml:"level"`
	Levels      []string          `yaml:"levels"`
	Environment string            `yaml:"environment"`
	Files       []string          `yaml:"files"`
	Names       string            `yaml:"names"`
	TimeLayout  string            `yaml:"time_layout"`
	Zone        string            `yaml:"zone"`
	Taken       string            `yaml:"taken"`
	Place       int               `yaml:"place"`
	Columns     columns           `yaml:"columns"`
}

// columns are those of an entry of tables, by what is in them.
type columns struct {
	Environment  string   `yaml:"environment"`
	Block        string   `yaml:"block"`
	Workload     string   `yaml:"workload"`
	Metric       string   `yaml:"metric"`
	Round        string   `yaml:"round"`
	Values       []string `yaml:"values"`
	Separator    string   `yaml:"separator"`
	NoHeader     bool     `yaml:"no_header"`
	DecimalComma bool     `yaml:"decimal_comma"`
}

// ReadManifest reads a manifest and finds its files, whose paths are relative to it.
// The error lists every problem.
func ReadManifest(path string) (*Request, error) {
	data, err := bounded.ReadFile(path, strictyaml.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("import manifest %s: %w", path, bounded.Cause(err))
	}
	return decodeManifest(path, data)
}

func decodeManifest(path string, data []byte) (*Request, error) {
	var problems strictyaml.Problems
	root, err := strictyaml.Parse(path, data, &problems)
	if err != nil {
		return nil, err
	}
	d := document{Margin: study.DefaultMargin, Confidence: study.DefaultConfidence, Fresh: unknownFresh}
	root.Decode(&d)
	r := &Request{Title: d.Import, Baseline: d.Baseline, Machine: d.Machine, Margin: d.Margin, Confidence: d.Confidence,
		Interleaved: d.Interleaved, Fresh: d.Fresh, SkipBad: d.SkipBad, Environments: d.Environments, Origin: path, Source: data}
	if d.Import == "" {
		root.Problemf("import: is missing; it is the title of the report")
	}
	if !slices.Contains(freshes, d.Fresh) {
		root.At("fresh").Problemf("%s", strictyaml.Unknown("value", d.Fresh, freshes))
	}
	if len(d.Results) == 0 && len(problems) == 0 {
		root.Problemf("results: is missing; it lists the files and the tools that wrote them")
	}
	for i, b := range d.Results {
		r.add(b, root.At("results", i), filepath.Dir(path))
	}
	if len(problems) == 0 {
		r.checkNames(root)
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return r, r.Check()
}

// add resolves one entry; problems are reported at its node.
func (r *Request) add(b batch, at strictyaml.Node, directory string) {
	if b.Tool == "" {
		at.Problemf("tool: is missing; name a parser or a workload pack")
		return
	}
	if b.Tool == TableTool {
		r.tables(b, at, directory)
		return
	}
	tool := b.Tool
	if strictyaml.IsPath(tool) {
		tool = strictyaml.In(directory, tool)
	}
	out, names, key, err := b.resolve(tool)
	if err != nil {
		at.At(key).Problemf("%s", err)
		return
	}
	paths := expand(b.Files, at, directory)
	if out.Files, err = filesOf(paths, b.Environment, names); err != nil {
		at.At("files").Problemf("%s", err)
		return
	}
	var taken time.Time
	if b.Taken != "" {
		if taken, err = parseTime(b.Taken, names.Layout, names.Zone); err != nil {
			at.At("taken").Problemf("%s", err)
		}
	}
	if (b.Place != 0 || b.Taken != "") && len(paths) > 1 {
		at.Problemf("taken and place describe one file, but this entry has %d: write an entry for each", len(paths))
	}
	if b.Place < 0 {
		at.At("place").Problemf("place: must be at least 1")
	}
	for i := range out.Files {
		f := &out.Files[i]
		if len(b.Level) > 0 {
			parameters := maps.Clone(b.Level)
			maps.Copy(parameters, f.Parameters)
			f.Parameters, f.Level = parameters, levelName(parameters)
		}
		if !taken.IsZero() {
			f.Taken = taken
		}
		f.Place = b.Place
	}
	if err := out.checkLevels(); err != nil {
		at.At("levels").Problemf("%s", err)
	}
	r.Batches = append(r.Batches, out)
}

// tables reads the tables of an entry.
func (r *Request) tables(b batch, at strictyaml.Node, directory string) {
	for key, given := range map[string]bool{"environment": b.Environment != "", "names": b.Names != "", "begins": b.Begins != "", "time_in": b.TimeIn != "",
		"taken": b.Taken != "", "place": b.Place != 0, "level": len(b.Level) > 0} {
		if given {
			at.At(key).Problemf("%s: is for the output of tools, and a table says it in a column: write columns", key)
		}
	}
	var files []table.File
	for _, path := range expand(b.Files, at, directory) {
		data, err := bounded.ReadFile(path, bounded.Output)
		if err != nil {
			at.At("files").Problemf("%s: %s", path, bounded.Cause(err))
			return
		}
		files = append(files, table.File{Name: path, Data: data})
	}
	if len(files) == 0 {
		return
	}
	c := b.Columns
	_, err := r.addTables(files, table.Columns{Environment: c.Environment, Block: c.Block, Workload: c.Workload, Metric: c.Metric, Round: c.Round, Level: b.Levels,
		Values: c.Values, Separator: c.Separator, NoHeader: c.NoHeader, DecimalComma: c.DecimalComma}, b.Metrics, b.Workload)
	if err != nil {
		at.Problemf("%s", err)
	}
}

// resolve is the batch without its files, of the pack or the parser that a tool is, and how
// the files' names are read. The error is about a key.
func (b batch) resolve(tool string) (out Batch, names fileNames, key string, err error) {
	pack, err := toolOf(tool, b.Metrics)
	if err != nil {
		return out, names, "tool", err
	}
	out = Batch{Tool: b.Tool, Pack: pack, Workload: cmp.Or(b.Workload, pack.Name), TimeIn: b.TimeIn, Levels: b.Levels, chosen: len(b.Metrics) > 0}
	if b.Begins != "" {
		if out.Begins, err = regexp.Compile(b.Begins); err != nil {
			return out, names, "begins", err
		}
	}
	names.Layout = b.TimeLayout
	if b.Zone != "" {
		if names.Zone, err = parseZone(b.Zone); err != nil {
			return out, names, "zone", err
		}
	}
	if b.Names != "" {
		names.Pattern, err = parsePattern(b.Names)
	}
	return out, names, "names", err
}

// expand finds the files of an entry. Each pattern must match a file.
func expand(patterns []string, at strictyaml.Node, directory string) []string {
	if len(patterns) == 0 {
		at.Problemf("files: is missing")
	}
	var paths []string
	for i, pattern := range patterns {
		pattern = strictyaml.In(directory, pattern)
		found, err := filepath.Glob(pattern)
		if err == nil && len(found) == 0 {
			if _, missing := os.Stat(pattern); missing == nil {
				found = []string{pattern} // a name with brackets in it
			}
		}
		switch {
		case err != nil:
			at.At("files", i).Problemf("%s: %s", pattern, err)
		case len(found) == 0:
			at.At("files", i).Problemf("there is no file %s", pattern)
		}
		for _, path := range found {
			if slices.Contains(paths, path) {
				at.At("files", i).Problemf("%s is matched twice", path)
				continue
			}
			paths = append(paths, path)
		}
	}
	return paths
}

// checkNames compares the environments of a manifest with those of its files.
func (r *Request) checkNames(root strictyaml.Node) {
	names := r.names()
	if r.Baseline != "" && !slices.Contains(names, r.Baseline) {
		root.At("baseline").Problemf("%s", strictyaml.Unknown("environment", r.Baseline, names))
	}
	for _, e := range r.Environments {
		if !slices.Contains(names, e.Name) {
			root.At("environments", e.Name).ProblemAtKey("no file has the environment %q; they have %s", e.Name, strings.Join(names, ", "))
		}
	}
	if len(r.Environments) > 0 {
		for _, name := range names {
			if !slices.ContainsFunc(r.Environments, func(e Environment) bool { return e.Name == name }) {
				root.At("environments").Problemf("files have the environment %q, which is not listed", name)
			}
		}
	}
	tools := map[string]string{}
	for i, b := range r.Batches {
		if first, known := tools[b.Workload]; known && first != b.Tool {
			root.At("results", i).Problemf("workload %s is parsed by %s above, and by %s here: give them two names", b.Workload, first, b.Tool)
		}
		tools[b.Workload] = b.Tool
	}
}
