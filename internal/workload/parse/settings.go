package parse

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// settings are expressions, one a line. The named groups are the settings. One that is
// printed with several values, as by jobs that differ, has all of them.
type settings []*pattern

// UnmarshalText reads the expressions of a declaration.
func (s *settings) UnmarshalText(text []byte) error {
	for line := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		*s = append(*s, expression(line))
	}
	return nil
}

// in are the settings that some lines print.
func (s settings) in(all []string) map[string]string {
	found := settingValues{}
	for _, line := range all {
		for _, p := range s {
			m := p.find(line)
			for i, name := range p.compiled().SubexpNames()[1:] {
				if m != nil && name != "" {
					found.add(name, m[i])
				}
			}
		}
	}
	return found.joined()
}

// settingsAt are the settings at these paths of the JSON document in an output; see JSON.
// There may be notes before it.
func settingsAt(paths map[string]string, stdout []byte) map[string]string {
	var document any
	if !documentIn(stdout, &document) {
		return nil
	}
	found := settingValues{}
	for name, path := range paths {
		for _, v := range valuesAt(document, path) {
			switch v := v.(type) {
			case string:
				found.add(name, v)
			case float64:
				found.add(name, strconv.FormatFloat(v, 'f', -1, 64))
			}
		}
	}
	return found.joined()
}

// settingValues are the different values of each setting, in the order of the output.
type settingValues map[string][]string

func (s settingValues) add(name, value string) {
	if value != "" && !slices.Contains(s[name], value) {
		s[name] = append(s[name], value)
	}
}

func (s settingValues) joined() map[string]string {
	all := map[string]string{}
	for name, values := range s {
		all[name] = strings.Join(values, "+")
	}
	return all
}

// documentIn decodes the first JSON document of an output that may have notes before
// it. Settings do not check the output: what cannot be decoded has none.
func documentIn(stdout []byte, into any) bool {
	start := slices.Index(stdout, '{')
	return start >= 0 && json.NewDecoder(strings.NewReader(string(stdout[start:]))).Decode(into) == nil
}
