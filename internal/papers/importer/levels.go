package importer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"tare/internal/base/strictyaml"
)

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
