// Package importer builds a run from existing output of benchmarks: it finds the
// files, matches their names, splits them into results, parses these, and writes a
// run directory in which every trial records its file and position.
//
// It must not evaluate values: package anomaly checks them, and package verdict
// draws conclusions.
package importer

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/internal/study"
	"tare/internal/workload"
)

// Request is an import that is resolved except for the content of the files.
type Request struct {
	Title    string
	Baseline string // "" is the first environment
	Machine  string // a description
	Margin   quantity.Share
	// Confidence of the intervals.
	Confidence quantity.Share
	// Interleaved: the i-th results of all environments belong together.
	Interleaved bool
	Fresh       string // trial, block, run or unknown
	SkipBad     bool   // results that cannot be read become failed trials
	// Environments that are described; others are named by files only.
	Environments []Environment
	Batches      []Batch
	// Origin is the path of the manifest, and Source its text; "" and nil for a
	// command line.
	Origin string
	Source []byte

	contents []*content // of tables, which are read before anything is known
	notes    []string   // of what was decided by the outputs
}

// Environment describes one environment of the results.
type Environment struct {
	Name  string
	Kind  string // a kind that tare knows, or any other word
	Label string // shown with every value
	About string
}

// Batch are the files of one tool about one workload.
type Batch struct {
	Tool     string // as it was named: a pack or a parser
	Pack     workload.Pack
	Workload string
	Begins   *regexp.Regexp // the first line of each result; nil leaves it to the parser
	TimeIn   string         // path in each result's JSON to the seconds since 1970
	// Levels are settings that the tool prints; each combination of their values is
	// a level of its own.
	Levels []string
	Files  []File

	chosen bool // the metrics, by the user
}

// File is one file of raw output, with what is known before it is read.
type File struct {
	Path        string
	Environment string
	Level       string
	Parameters  map[string]string // of the level
	Taken       time.Time
	Place       int // position in the order of measurement; 0 is unknown
	Block       int // of its only result; 0 is unknown
}

const unknownFresh = "unknown"

var freshes = []string{"trial", "block", "run", unknownFresh}

// names lists the environments that have files: first those that are described, in
// that order, then the others in the order of the files.
func (r *Request) names() []string {
	var found []string
	for _, b := range r.Batches {
		for _, f := range b.Files {
			found = lists.Add(found, f.Environment)
		}
	}
	place := func(name string) int {
		if i := slices.IndexFunc(r.Environments, func(e Environment) bool { return e.Name == name }); i >= 0 {
			return i
		}
		return len(r.Environments)
	}
	slices.SortStableFunc(found, func(a, b string) int { return place(a) - place(b) })
	return found
}

// Check validates what does not depend on the content of the files.
func (r *Request) Check() error {
	switch {
	case !(r.Margin > 0 && r.Margin < 1):
		return fmt.Errorf("the margin %s is not between 0%% and 100%%", r.Margin)
	case !(r.Confidence >= .5 && r.Confidence < 1):
		return fmt.Errorf("the confidence %s is not between 50%% and 100%%", r.Confidence)
	case !slices.Contains(freshes, r.Fresh):
		return errors.New("fresh: " + strictyaml.Unknown("value", r.Fresh, freshes))
	case len(r.names()) == 0:
		return fmt.Errorf("no files of results are given")
	}
	return nil
}

// environment returns the entry of the plan, and the description, of a name.
func (r *Request) environment(name string) (study.Environment, Environment) {
	about := Environment{Name: name}
	if e := lists.Find(r.Environments, func(e *Environment) bool { return e.Name == name }); e != nil {
		about = *e
	}
	about.Kind = cmp.Or(about.Kind, name)
	return study.Environment{Name: name, Kind: about.Kind, Options: []byte("{}")}, about
}

// Single is an import of the files of one tool, as a command line describes it.
// A manifest describes several.
type Single struct {
	Paths       []string
	Tool        string   // a parser, a pack, or the file of a pack
	Environment string   // of the files; "" where Names has a group for it
	Workload    string   // its name; "" is that of the tool
	Metrics     []string // NAME:lower or NAME:higher, optionally with :UNIT; nil is those of the tool
	Names       string   // a regular expression of the files' names
	TimeLayout  string   // of the group time in Names, as Go writes layouts
	Zone        string   // of times without an offset
	TimeIn      string   // path of the time in each result's JSON
	Begins      string   // a regular expression of each result's first line
	Levels      []string // settings that the tool prints, of which levels are made

	Baseline, Title, Fresh, Margin string
	Interleaved, SkipBad           bool
}

// Request checks the description. Its errors name the flags of `tare import`.
func (s Single) Request() (*Request, error) {
	r := &Request{Title: s.Title, Baseline: s.Baseline, Confidence: study.DefaultConfidence, Fresh: s.Fresh, Interleaved: s.Interleaved, SkipBad: s.SkipBad}
	var err error
	if r.Margin, err = quantity.ParseShare(s.Margin); err != nil {
		return nil, fmt.Errorf("--margin: %w", err)
	}
	d := batch{Tool: s.Tool, Workload: s.Workload, TimeIn: s.TimeIn, Levels: s.Levels, Begins: s.Begins, Names: s.Names, TimeLayout: s.TimeLayout, Zone: s.Zone}
	if d.Metrics, err = parseMetrics(s.Metrics); err != nil {
		return nil, err
	}
	b, names, key, err := d.resolve(s.Tool)
	switch {
	case err != nil && (key != "zone" || s.Names != ""):
		return nil, fmt.Errorf("--%s: %w", key, err)
	case s.Names == "" && s.TimeLayout+s.Zone != "":
		return nil, errors.New("--time-layout and --zone are about the time in the names of the files, which --names finds: add it")
	}
	if b.Files, err = filesOf(s.Paths, s.Environment, names); err != nil {
		return nil, err
	}
	if err := b.checkLevels(); err != nil {
		return nil, fmt.Errorf("--level: %w", err)
	}
	r.Batches = []Batch{b}
	return r, r.Check()
}

// parseMetrics reads NAME, NAME:better and NAME:better:unit.
func parseMetrics(texts []string) ([]workload.Metric, error) {
	var all []workload.Metric
	for _, text := range texts {
		words := strings.SplitN(text, ":", 3)
		m := workload.Metric{Name: words[0], Primary: true}
		if len(words) > 1 {
			m.Better = words[1]
		}
		if len(words) > 2 {
			m.Unit = words[2]
		}
		if m.Name == "" || m.Better != "" && m.Better != "lower" && m.Better != "higher" {
			return nil, fmt.Errorf("--metric %s: write a field and its better direction, such as events_per_second:higher", text)
		}
		all = append(all, m)
	}
	return all, nil
}
