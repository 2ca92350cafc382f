// Package importer builds a run from raw output that existed already: it finds
// the files, tells from their names what they are, cuts them into results, has
// the parsers read these, and writes a run folder in which every trial leads
// back to its file and to its place in it.
//
// It must not judge figures: what the results look like is for package inspect,
// and what follows from them for package verdict.
package importer

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"tare/internal/quantity"
	"tare/internal/study"
	"tare/internal/workload"
)

// Request is an import with nothing left to look up but the files' content.
type Request struct {
	Title    string
	Baseline string // "" is the first environment
	Machine  string // in words
	Margin   quantity.Share
	// Confidence of the intervals.
	Confidence quantity.Share
	// Interleaved: the i-th results of all environments belong together.
	Interleaved bool
	Fresh       string // trial, block, run or unknown
	SkipBad     bool   // results that cannot be read become failed trials
	// Environments that are described; others are known by their files alone.
	Environments []Environment
	Batches      []Batch
	// Origin is where the request was written, and Source the text of it; "" and
	// nil for a command line.
	Origin string
	Source []byte
}

// Environment describes one of the places that results come from.
type Environment struct {
	Name  string
	Kind  string // a kind that tare knows, or any other word
	Label string // stands beside every figure
	About string
}

// Batch is files that one tool wrote about one workload.
type Batch struct {
	Tool     string // as it was named: a pack or a parser
	Pack     workload.Pack
	Workload string
	Begins   *regexp.Regexp // the first line of each result; nil is the parser's own way
	TimeIn   string         // path in each result's JSON to the seconds since 1970
	Files    []File
}

// File is one file of raw output and what is known of it beforehand.
type File struct {
	Path        string
	Environment string
	Level       string
	Parameters  map[string]string // of the level
	Taken       time.Time
	Place       int // in the order in which all were taken; 0 is not known
	Block       int // of its only result; 0 is not known
}

// Defaults of a request.
const (
	defaultMargin     = quantity.Share(.02)
	defaultConfidence = quantity.Share(.95)
	unknownFresh      = "unknown"
)

var freshes = []string{"trial", "block", "run", unknownFresh}

// New is a request with its defaults.
func New() *Request {
	return &Request{Margin: defaultMargin, Confidence: defaultConfidence, Fresh: unknownFresh}
}

// names lists the environments that have files, in the order in which they are
// described or come up.
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

// Check finds what makes a request useless whatever the files hold.
func (r *Request) Check() error {
	switch {
	case !(r.Margin > 0 && r.Margin < 1):
		return fmt.Errorf("the margin %s is not between 0%% and 100%%", r.Margin)
	case !(r.Confidence >= .5 && r.Confidence < 1):
		return fmt.Errorf("the confidence %s is not between 50%% and 100%%", r.Confidence)
	case !slices.Contains(freshes, r.Fresh):
		return fmt.Errorf("fresh is %q, and not one of %v", r.Fresh, freshes)
	case len(r.names()) == 0:
		return fmt.Errorf("no file of results is named")
	}
	return nil
}

// environment is the plan's entry of a name.
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
