package parse

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// settingsIn returns a Settings of a tool that prints each setting in a line of its
// own. The named groups of the patterns are the settings. One that is printed with
// several values, as by jobs that differ, has all of them.
func settingsIn(patterns ...string) func([]byte) map[string]string {
	var compiled []*regexp.Regexp
	for _, p := range patterns {
		compiled = append(compiled, regexp.MustCompile(p))
	}
	return func(stdout []byte) map[string]string {
		found := settingValues{}
		for _, line := range lines(stdout) {
			for _, p := range compiled {
				m := p.FindStringSubmatch(line)
				for i, name := range p.SubexpNames() {
					if m != nil && name != "" {
						found.add(name, m[i])
					}
				}
			}
		}
		return found.joined()
	}
}

// settingsAt returns a Settings of a tool that prints a JSON document with the settings
// at these paths; see JSON. There may be notes before it.
func settingsAt(paths map[string]string) func([]byte) map[string]string {
	return func(stdout []byte) map[string]string {
		var document any
		if !documentIn(stdout, &document) {
			return nil
		}
		found := settingValues{}
		for name, path := range paths {
			values, _, _ := jsonAt(document, path)
			for _, v := range values {
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
