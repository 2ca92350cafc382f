package importer

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"tare/internal/base/strictyaml"
)

// fileNames say what the names of files are about.
type fileNames struct {
	Pattern *regexp.Regexp // with named groups, which each name must match; nil for none
	Layout  string         // of the time, as package time writes layouts; "" tries the usual ones
	Zone    *time.Location // of times without an offset; nil refuses such times
}

// The groups with a meaning; all others are swept parameters.
const (
	groupTime        = "time"
	groupEnvironment = "environment"
	groupBlock       = "block"
)

var groups = []string{groupTime, groupEnvironment, groupBlock}

// layouts are the usual forms of times in file names.
var layouts = []string{
	time.RFC3339, "2006-01-02T15:04:05-0700", "2006-01-02T15-04-05-0700", "20060102T150405-0700", "20060102T150405Z0700",
	"2006-01-02T15:04:05", "2006-01-02T15-04-05", "2006-01-02_15-04-05", "2006-01-02_15:04:05", "20060102-150405", "20060102T150405", "20060102_150405",
}

// parsePattern compiles a pattern and checks its groups.
func parsePattern(pattern string) (*regexp.Regexp, error) {
	p, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("the pattern of file names: %w", err)
	}
	named := false
	for _, g := range p.SubexpNames() {
		named = named || g != ""
		if g != "" && !slices.Contains(groups, g) {
			if near := strictyaml.Nearest(g, groups); near != "" {
				return nil, fmt.Errorf("the pattern of file names has a group %q; did you mean %q? (time, environment and block are known, any other is a swept parameter)", g, near)
			}
		}
	}
	if !named {
		return nil, fmt.Errorf("the pattern of file names %q has no named group, such as (?P<environment>native|docker)", pattern)
	}
	return p, nil
}

// parseZone reads an offset such as +02:00, or the name of a time zone such as
// Europe/Helsinki.
func parseZone(text string) (*time.Location, error) {
	for _, layout := range []string{"-07:00", "-0700", "Z07:00"} {
		if t, err := time.Parse(layout, text); err == nil {
			_, offset := t.Zone()
			return time.FixedZone(text, offset), nil
		}
	}
	if text == "Local" {
		return nil, fmt.Errorf("the zone Local differs between machines: write an offset, such as +02:00")
	}
	place, err := time.LoadLocation(text)
	if err != nil {
		return nil, fmt.Errorf("the zone %q is neither an offset such as +02:00 nor a name such as Europe/Helsinki", text)
	}
	return place, nil
}

// parseTime reads a time in the name of a file or in a manifest.
func parseTime(text, layout string, zone *time.Location) (time.Time, error) {
	tried := layouts
	if layout != "" {
		tried = []string{layout}
	}
	for _, l := range tried {
		in := zone
		if in == nil {
			in = time.UTC
		}
		t, err := time.ParseInLocation(l, text, in)
		if err != nil {
			continue
		}
		if zone == nil && !hasOffset(l) {
			return time.Time{}, fmt.Errorf("the time %q has no offset from UTC: set its zone, such as +02:00", text)
		}
		return t.UTC(), nil
	}
	if layout != "" {
		return time.Time{}, fmt.Errorf("the time %q is not written as %q", text, layout)
	}
	return time.Time{}, fmt.Errorf("the time %q has no known layout: give one as Go writes layouts, such as 2006-01-02T15:04:05-0700", text)
}

func hasOffset(layout string) bool {
	return strings.Contains(layout, "-07") || strings.Contains(layout, "Z07") || strings.Contains(layout, "MST")
}

// apply fills in what the name of a file says, which must agree with what is known.
func (n fileNames) apply(f *File) error {
	name := filepath.Base(f.Path)
	match := n.Pattern.FindStringSubmatch(name)
	if match == nil {
		return fmt.Errorf("the name of %s does not match %s: leave the file out, or change the pattern", f.Path, n.Pattern)
	}
	for i, group := range n.Pattern.SubexpNames() {
		text := match[i]
		if group == "" || text == "" {
			continue
		}
		switch group {
		case groupTime:
			t, err := parseTime(text, n.Layout, n.Zone)
			if err != nil {
				return fmt.Errorf("the name of %s: %w", f.Path, err)
			}
			f.Taken = t
		case groupEnvironment:
			if f.Environment != "" && f.Environment != text {
				return fmt.Errorf("the name of %s has the environment %s, but %s was given", f.Path, text, f.Environment)
			}
			f.Environment = text
		case groupBlock:
			block, err := strconv.Atoi(text)
			if err != nil || block < 1 {
				return fmt.Errorf("the name of %s has the block %q: blocks are numbered from 1", f.Path, text)
			}
			f.Block = block
		default:
			if f.Parameters == nil {
				f.Parameters = map[string]string{}
			}
			f.Parameters[group] = text
		}
	}
	return nil
}

// levelName names the level of these parameters like a study does.
func levelName(parameters map[string]string) string {
	var parts []string
	for name, value := range parameters {
		parts = append(parts, name+"="+value)
	}
	slices.Sort(parts)
	return strings.Join(parts, ",")
}

func filesOf(paths []string, environment string, names fileNames) ([]File, error) {
	var all []File
	for _, path := range paths {
		if err := exists(path); err != nil {
			return nil, err
		}
		f := File{Path: path, Environment: environment}
		if names.Pattern != nil {
			if err := names.apply(&f); err != nil {
				return nil, err
			}
		}
		if f.Environment == "" {
			return nil, fmt.Errorf("the environment of %s is unknown: name it with environment, or with a group (?P<environment>...) of the pattern of file names", path)
		}
		f.Level = levelName(f.Parameters)
		all = append(all, f)
	}
	return all, nil
}

// checkLevels validates the names of the settings, before any result is read.
func (b *Batch) checkLevels() error {
	for i, name := range b.Levels {
		switch {
		case strings.TrimSpace(name) == "":
			return fmt.Errorf("one of the names is empty: write settings that the tool prints, such as threads")
		case slices.Contains(b.Levels[:i], name):
			return fmt.Errorf("%s is named twice", name)
		}
		for _, f := range b.Files {
			if v, known := f.Parameters[name]; known {
				return fmt.Errorf("%s is already %s for %s, by the names of the files or by level: leave one of them out", name, v, f.Path)
			}
		}
	}
	return nil
}

// sortIntoLevels gives each result its level: that of its file, and the values of the
// settings of which levels are made. A result that says none of them cannot be placed,
// so it counts as one that cannot be read.
func (b *Batch) sortIntoLevels(contents []*content) error {
	said, readable := map[string]bool{}, false
	for _, c := range contents {
		for _, r := range c.results {
			readable = readable || r.failed == ""
			for name := range r.settings {
				said[name] = true
			}
		}
	}
	known := slices.Sorted(maps.Keys(said))
	for _, name := range b.Levels {
		switch {
		case said[name] || !readable:
		case len(known) == 0:
			return fmt.Errorf("level %s: the results of %s do not say how they were measured: take levels from the names of the files (--names; in a manifest names), or state them in a manifest (level)", name, b.Tool)
		default:
			return fmt.Errorf("level %s: %s", name, strictyaml.Unknown("setting of "+b.Tool, name, known))
		}
	}
	for _, c := range contents {
		blocks := map[string]int{}
		for i := range c.results {
			r := &c.results[i]
			r.place(c.File, b.Levels)
			blocks[r.level]++
			if c.Block > 0 && blocks[r.level] > 1 {
				return fmt.Errorf("%s: its name has the block %d, but it has %d results%s: a block has one result of each environment", c.Path, c.Block, len(c.results), atLevel(r.level))
			}
		}
	}
	return nil
}

// unknownSetting is the value of a setting that a result does not say.
const unknownSetting = "unknown"

// place sets the level of a result.
func (r *result) place(f File, levels []string) {
	r.level, r.parameters = f.Level, f.Parameters
	if len(levels) == 0 {
		return
	}
	r.parameters = maps.Clone(f.Parameters)
	if r.parameters == nil {
		r.parameters = map[string]string{}
	}
	for _, name := range levels {
		value := r.settings[name]
		if why := unfit(value); why != "" {
			value = unknownSetting
			if r.failed == "" {
				r.failed = fmt.Sprintf("its %s %s, so it has no level", name, why)
			}
		}
		r.parameters[name] = value
	}
	r.level = levelName(r.parameters)
}

// unfit is why a value cannot be a part of the name of a level; "" if it can.
func unfit(value string) string {
	switch {
	case value == "":
		return "is not in the output"
	case len(value) > 100:
		return fmt.Sprintf("has %d characters", len(value))
	case strings.ContainsFunc(value, func(c rune) bool { return c == '=' || c == unicode.ReplacementChar || !unicode.IsPrint(c) }):
		return fmt.Sprintf("is %q", value)
	}
	return ""
}

func atLevel(level string) string {
	if level == "" {
		return ""
	}
	return ", several of them at " + level
}
