package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"text/template"
	"time"

	"tare/internal/base/strictyaml"
	"tare/internal/image"
	"tare/internal/rundir"
)

// filterKeys are the keys of `tare ls --filter`.
var filterKeys = []string{"name", "about", "study", "state", "since", "before"}

// filter keeps what all filters hold for.
func (l *listing) filter(filters []string, now time.Time) error {
	for _, text := range filters {
		key, value, whole := strings.Cut(text, "=")
		if !whole || !slices.Contains(filterKeys, key) {
			return fmt.Errorf("--filter %s: %s", text, strictyaml.Unknown("key", key, filterKeys))
		}
		if err := l.keep(key, value, now); err != nil {
			return fmt.Errorf("--filter %s: %w", text, err)
		}
	}
	return nil
}

func (l *listing) keep(key, value string, now time.Time) error {
	var at time.Time
	switch key {
	case "since", "before":
		var err error
		if at, err = moment(value, now); err != nil {
			return err
		}
	case "state":
		if states := []string{rundir.Ended, rundir.Interrupted, rundir.NotEnded, rundir.Unreadable}; !slices.Contains(states, value) {
			return fmt.Errorf("%s", strictyaml.Unknown("state", value, states))
		}
	case "name":
		if _, err := path.Match(value, ""); err != nil {
			return fmt.Errorf("%q is not a pattern: %w", value, err)
		}
	}
	kept := listing{things: []any{}, head: l.head}
	for i, thing := range l.things {
		if holds(thing, key, value, at) {
			kept.add(thing, l.rows[i]...)
		}
	}
	*l = kept
	return nil
}

// holds reports whether a filter holds for a thing. One that has no such property is not
// what was asked for.
func holds(thing any, key, value string, at time.Time) bool {
	var names []string
	about, made := "", time.Time{}
	switch t := thing.(type) {
	case entry:
		names, about = []string{t.Name}, t.About
	case image.Entry:
		names, made = append([]string{t.Digest}, t.Names...), t.Made
	case rundir.Listed:
		switch key {
		case "study":
			return strings.Contains(t.Study, value)
		case "state":
			return t.State == value
		}
		names, about, made = []string{t.Name}, t.About, t.Created
	}
	switch key {
	case "name":
		return slices.ContainsFunc(names, func(name string) bool {
			matches, _ := path.Match(value, name)
			return matches || strings.Contains(name, value)
		})
	case "about":
		return strings.Contains(about, value)
	case "since":
		return !made.IsZero() && !made.Before(at)
	case "before":
		return !made.IsZero() && made.Before(at)
	}
	return false
}

// moment reads a date, a time, or how long ago one was.
func moment(text string, now time.Time) (time.Time, error) {
	if ago, err := time.ParseDuration(text); err == nil {
		return now.Add(-ago), nil
	}
	for _, layout := range []string{time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04", time.RFC3339} {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is neither a date (2026-11-21), a time (2026-11-21T08:00) nor how long ago (36h)", text)
}

// listTemplate is the template of --format.
func listTemplate(text string) (*template.Template, error) {
	t, err := template.New("--format").Funcs(template.FuncMap{
		"join": strings.Join,
		"json": func(v any) (string, error) {
			var b bytes.Buffer
			e := json.NewEncoder(&b)
			e.SetEscapeHTML(false)
			err := e.Encode(v)
			return strings.TrimSpace(b.String()), err
		},
	}).Parse(text)
	if err != nil {
		return nil, badInput("--format %s is not a template: %w", text, err)
	}
	return t, nil
}
