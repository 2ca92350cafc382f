package importer

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"tare/internal/base/quantity"
	"tare/internal/workload"
)

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
	r := New()
	r.Title, r.Baseline, r.Fresh = s.Title, s.Baseline, s.Fresh
	r.Interleaved, r.SkipBad = s.Interleaved, s.SkipBad
	var err error
	if r.Margin, err = quantity.ParseShare(s.Margin); err != nil {
		return nil, fmt.Errorf("--margin: %w", err)
	}
	metrics, err := parseMetrics(s.Metrics)
	if err != nil {
		return nil, err
	}
	pack, err := Tool(s.Tool, metrics)
	if err != nil {
		return nil, fmt.Errorf("--tool: %w", err)
	}
	b := Batch{Tool: s.Tool, Pack: pack, Workload: s.Workload, TimeIn: s.TimeIn, Levels: s.Levels}
	if b.Workload == "" {
		b.Workload = pack.Name
	}
	if s.Begins != "" {
		if b.Begins, err = regexp.Compile(s.Begins); err != nil {
			return nil, fmt.Errorf("--begins: %w", err)
		}
	}
	if s.Names == "" && s.TimeLayout+s.Zone != "" {
		return nil, errors.New("--time-layout and --zone are about the time in the names of the files, which --names finds: add it")
	}
	var names *Names
	if s.Names != "" {
		if names, err = NewNames(s.Names, s.TimeLayout, s.Zone); err != nil {
			return nil, fmt.Errorf("--names: %w", err)
		}
	}
	if b.Files, err = Files(s.Paths, s.Environment, names); err != nil {
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
