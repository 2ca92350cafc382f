package importer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
	"tare/internal/rundir"
	"tare/internal/workload/parse"
)

// content is a file with its results.
type content struct {
	File
	batch   *Batch
	data    []byte
	sum     string
	results []result
	others  []string // what its pieces are that are no results of the tool
	unsure  string   // why its runs may have been interrupted

	// Of a table: the workload, the results of each cell, and the values of each metric so far.
	of  string
	at  map[tableCell][]int
	had map[tableCell]int
}

// result is one output of a tool.
type result struct {
	block      int // that a table says; 0 is none
	level      string
	parameters map[string]string // of the level

	metrics  map[string]float64
	missing  map[string]string
	settings map[string]string
	id       string
	taken    time.Time // in the result; zero if it has none
	line     int       // of the file, from 1: where it begins, or what was not understood
	failed   string    // why it could not be read
	has      []string  // the fields of one without the primary metric
}

// Unreadable is the error about results that cannot be parsed.
type Unreadable []string

func (u Unreadable) Error() string {
	shown := u
	if len(u) > 10 {
		shown = append(shown[:10:10], fmt.Sprintf("... and %d more", len(u)-10))
	}
	return strings.Join(shown, "\n") + "\nnothing was imported; with --skip-bad such results are kept as failed trials, with the reason"
}

// readAll reads every file. The error lists all results that cannot be parsed.
func (r *Request) readAll() ([]*content, error) {
	var bad Unreadable
	all := slices.Clone(r.contents)
	for _, c := range all {
		c.batch = r.tableBatch(c.of)
	}
	for i := range r.Batches {
		b := &r.Batches[i]
		if b.Tool == TableTool {
			continue // its tables were read
		}
		contents, err := b.readFiles()
		if err != nil {
			return nil, err
		}
		if note := b.fallBack(contents); note != "" {
			r.notes = append(r.notes, note)
			for _, c := range contents {
				b.readResults(c)
			}
		}
		if err := b.sortIntoLevels(contents); err != nil {
			return nil, err
		}
		all = append(all, contents...)
	}
	for _, c := range all {
		if len(c.others) > 0 {
			r.notes = append(r.notes, fmt.Sprintf("%s: %s left out: %s", c.Path, quantity.Counted(len(c.others), "other output", "other outputs"), distinct(c.others)))
		}
		for n, r := range c.results {
			if r.failed != "" {
				bad = append(bad, fmt.Sprintf("%s:%d: result %d: %s", c.Path, r.line, n+1, r.failed))
			}
		}
	}
	if len(bad) > 0 && !r.SkipBad {
		return nil, bad
	}
	return all, checkTwice(all[len(r.contents):]) // a table has all environments
}

func (b *Batch) readFiles() (all []*content, err error) {
	for _, f := range b.Files {
		c, err := b.read(f)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// read reads one file.
func (b *Batch) read(f File) (*content, error) {
	if err := exists(f.Path); err != nil {
		return nil, err
	}
	data, err := bounded.ReadFile(f.Path, bounded.Output)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Path, bounded.Cause(err))
	}
	sum := sha256.Sum256(data)
	c := &content{File: f, batch: b, data: data, sum: hex.EncodeToString(sum[:])}
	b.readResults(c)
	return c, nil
}

// readResults splits a file into its results and parses them.
func (b *Batch) readResults(c *content) {
	c.results, c.others = nil, nil
	data, err := parse.Text(c.data)
	var outputs [][]byte
	if err == nil {
		outputs, err = b.split(data)
	}
	if err != nil {
		c.results = []result{{line: lineOf(err, 1), failed: "the file cannot be split into results: " + err.Error()}}
		return
	}
	if p, ok := parse.Lookup(b.Pack.Parser.Name); ok {
		c.unsure = p.Unsure(data)
	}
	at, line := 0, 1
	for _, output := range outputs {
		if i := bytes.Index(data[at:], output); i >= 0 {
			line += bytes.Count(data[at:at+i], []byte("\n"))
			at += i
		}
		if other := b.other(output); other != "" {
			c.others = append(c.others, other)
		} else {
			one := b.result(output)
			one.line += line
			c.results = append(c.results, one)
		}
		line += bytes.Count(output, []byte("\n"))
		at += len(output)
	}
	if len(c.results) == 0 {
		c.results = []result{{line: 1, failed: fmt.Sprintf("it has no result of %s, only of %s", b.Pack.Parser.Name, distinct(c.others))}}
	}
}

// other names what a piece of a file is in place of a result.
func (b *Batch) other(output []byte) string {
	if p, ok := parse.Lookup(b.Pack.Parser.Name); ok && b.Begins == nil {
		return p.Other(output)
	}
	return ""
}

func distinct(names []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", ")
}

func (b *Batch) split(data []byte) ([][]byte, error) {
	if b.Begins != nil {
		return splitBefore(data, b.Begins)
	}
	if p, ok := parse.Lookup(b.Pack.Parser.Name); ok && p.Split != nil {
		return p.Split(data)
	}
	return [][]byte{data}, nil
}

// splitBefore splits a file before every line that matches. What precedes the first one is
// of no result.
func splitBefore(data []byte, begins *regexp.Regexp) ([][]byte, error) {
	var outputs [][]byte
	start := -1
	for at := 0; at < len(data); {
		end := len(data)
		if i := bytes.IndexByte(data[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		line := bytes.TrimRight(data[at:end], "\r\n")
		if begins.Match(line) {
			if start >= 0 {
				outputs = append(outputs, data[start:at])
			}
			start = at
		}
		at = end
	}
	if start < 0 {
		return nil, fmt.Errorf("no line matches %s, the beginning of a result", begins)
	}
	return append(outputs, data[start:]), nil
}

func (b *Batch) result(output []byte) result {
	var r result
	p, _ := parse.Lookup(b.Pack.Parser.Name)
	if p.Settings != nil {
		r.settings = p.Settings(output)
	}
	if p.ID != nil {
		r.id = p.ID(output)
	}
	var err error
	if b.TimeIn != "" {
		if r.taken, err = timeIn(output, b.TimeIn); err != nil {
			return result{settings: r.settings, id: r.id, failed: err.Error(), line: lineOf(err, 1) - 1}
		}
	}
	parsed, err := b.Pack.Parse(output)
	if r.metrics, r.missing = parsed.Metrics, parsed.Missing; err != nil {
		whose := "the output of workload " + b.Pack.Name
		r.line = lineOf(err, 1) - 1
		r.failed = strings.TrimPrefix(err.Error(), whose+": ")
		if r.has = b.has(output); len(r.has) > 0 {
			r.failed = fmt.Sprintf("the output%s; it has %s, choose the metrics to compare with --metric (in a manifest, metrics)",
				strings.TrimPrefix(r.failed, whose), strings.Join(r.has, ", "))
		}
	}
	return r
}

// lineOf is the line that an error is about.
func lineOf(err error, otherwise int) int {
	var at *parse.Line
	if errors.As(err, &at) {
		return at.Number
	}
	return otherwise
}

// has lists the fields of an output that can be parsed but lacks the primary metric.
func (b *Batch) has(output []byte) []string {
	if p, ok := parse.Lookup(b.Pack.Parser.Name); ok {
		if fields, err := p.Parse(output); err == nil {
			return slices.Sorted(maps.Keys(fields))
		}
	}
	return nil
}

// timeIn reads the time of a result, in seconds since 1970, from its JSON.
func timeIn(output []byte, path string) (time.Time, error) {
	fields, missing, err := parse.JSON([]string{path}, output)
	if err != nil {
		return time.Time{}, err
	}
	seconds, ok := fields[path]
	if !ok {
		return time.Time{}, fmt.Errorf("it has no field %s for its time: %s", path, missing[path])
	}
	whole, part := math.Modf(seconds)
	return time.Unix(int64(whole), int64(part*1e9)).UTC(), nil
}

// ofWorkload is what identifies a file, or a result, of a workload.
type ofWorkload struct{ workload, id string }

// checkTwice refuses to count a result twice: the same file under two names, and the
// reports of client and server of the same test.
func checkTwice(all []*content) error {
	sums, ids := map[ofWorkload]string{}, map[ofWorkload]string{}
	for _, c := range all {
		key := ofWorkload{c.batch.Workload, c.sum}
		if first, twice := sums[key]; twice {
			if first == c.Path {
				return fmt.Errorf("%s is named twice", first)
			}
			return fmt.Errorf("%s has the same bytes as %s: a measurement counts only once", c.Path, first)
		}
		sums[key] = c.Path
		for n, r := range c.results {
			if r.id == "" {
				continue
			}
			here := fmt.Sprintf("result %d of %s", n+1, c.Path)
			key := ofWorkload{c.batch.Workload, r.id}
			if first, twice := ids[key]; twice {
				return fmt.Errorf("%s is the same test as %s, reported by the other side: client and server differ, so import the files of one side, or give each side its own workload name", here, first)
			}
			ids[key] = here
		}
	}
	return nil
}

// source is the origin of the trial of result n.
func (c *content) source(n int) *rundir.Source {
	r := c.results[n]
	return &rundir.Source{File: c.Path, Result: n + 1, Timed: !r.taken.IsZero(), Settings: r.settings, ID: r.id}
}
