package parse

import (
	"encoding/json"
	"regexp"
	"slices"
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
// it. Settings are no check of the output: what cannot be decoded has none.
func documentIn(stdout []byte, into any) bool {
	start := slices.Index(stdout, '{')
	return start >= 0 && json.NewDecoder(strings.NewReader(string(stdout[start:]))).Decode(into) == nil
}
