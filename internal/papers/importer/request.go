// Package importer builds a run from existing output of benchmarks: it finds the
// files, matches their names, splits them into results, parses these, and writes a
// run directory in which every trial records its file and position.
//
// It must not evaluate values: package anomaly checks them, and package verdict
// draws conclusions.
package importer

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

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

// Defaults of a request.
const (
	defaultMargin     = quantity.Share(.02)
	defaultConfidence = quantity.Share(.95)
	unknownFresh      = "unknown"
)

var freshes = []string{"trial", "block", "run", unknownFresh}

// New returns a request with the defaults.
func New() *Request {
	return &Request{Margin: defaultMargin, Confidence: defaultConfidence, Fresh: unknownFresh}
}

// names lists the environments that have files: first those that are described, in
// that order, then the others in the order of the files.
func (r *Request) names() []string {
	var described, found []string
	for _, b := range r.Batches {
		for _, f := range b.Files {
			if !slices.Contains(found, f.Environment) {
				found = append(found, f.Environment)
			}
		}
	}
	for _, e := range r.Environments {
		if slices.Contains(found, e.Name) {
			described = append(described, e.Name)
		}
	}
	for _, name := range found {
		if !slices.Contains(described, name) {
			described = append(described, name)
		}
	}
	return described
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
	for _, e := range r.Environments {
		if e.Name == name {
			about = e
		}
	}
	if about.Kind == "" {
		about.Kind = name
	}
	return study.Environment{Name: name, Kind: about.Kind, Options: []byte("{}")}, about
}
