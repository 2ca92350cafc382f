package fingerprint

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"tare/internal/base/strictyaml"
)

// Settings parses a configuration file into keys, each with its values in order.
// It detects the syntax: YAML and JSON by the
// file's name; nginx's blocks and semicolons; sections in brackets (ini, my.cnf);
// sections in angle brackets (Apache's); key = value; key value (Redis). For
// any other text it returns nothing.
func Settings(path, text string) map[string][]string {
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".json":
		return settingsOfYAML(text)
	case ".xml", ".php", ".sh", ".py", ".jmx", ".sql", ".html":
		return nil
	}
	if strings.Contains(text, "{") && strings.Contains(text, ";") {
		return settingsOfBlocks(text)
	}
	return settingsOfLines(path, text)
}

var (
	section   = regexp.MustCompile(`^\[([^\]]+)\]$`)
	angle     = regexp.MustCompile(`^<(/?)([A-Za-z][^>]*)>$`)
	equals    = regexp.MustCompile(`^([A-Za-z0-9_][A-Za-z0-9_. -]*?)\s*[=:]\s*(.*)$`)
	keyValue  = regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_.-]*)(?:\s+(.*))?$`)
	option    = regexp.MustCompile(`^(-[A-Za-z-]\S*?)(?:=(.*))?$`)
	nginxWord = regexp.MustCompile(`"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|#[^\n]*|[{};]|(?:\$\{\w+\}|[^\s{};])+`)
)

// settingsOfLines parses one setting per line.
func settingsOfLines(path, text string) map[string][]string {
	found, within := map[string][]string{}, []string{}
	lines := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		lines++
		if s := section.FindStringSubmatch(line); s != nil {
			within = []string{s[1]}
			continue
		}
		if s := angle.FindStringSubmatch(line); s != nil {
			if s[1] == "" {
				within = append(within, s[2])
			} else if len(within) > 0 {
				within = within[:len(within)-1]
			}
			continue
		}
		key, value := "", ""
		if s := option.FindStringSubmatch(line); s != nil {
			key, value = s[1], s[2]
		} else if s := equals.FindStringSubmatch(line); s != nil && (strings.Contains(line, "=") || strings.Contains(line, ": ")) && !strings.Contains(s[1], " ") {
			key, value = s[1], s[2]
		} else if s := keyValue.FindStringSubmatch(line); s != nil {
			key, value = s[1], s[2]
		} else {
			continue
		}
		if filepath.Ext(path) == ".cnf" { // to MySQL both are one key
			key = strings.ReplaceAll(key, "-", "_")
		}
		key = strings.Join(append(slices.Clone(within), key), ".")
		found[key] = append(found[key], strings.TrimSpace(value))
	}
	return found
}

// settingsOfBlocks parses nginx's syntax: words up to a semicolon are a directive,
// words up to a brace begin a block.
func settingsOfBlocks(text string) map[string][]string {
	found, within, words := map[string][]string{}, []string{}, []string{}
	for _, word := range nginxWord.FindAllString(text, -1) {
		switch {
		case word[0] == '#':
		case word == "{":
			within = append(within, strings.Join(words, " "))
			words = nil
		case word == "}":
			if len(within) > 0 {
				within = within[:len(within)-1]
			}
			words = nil
		case word == ";":
			if len(words) > 0 {
				key := strings.Join(append(slices.Clone(within), words[0]), ".")
				found[key] = append(found[key], strings.Join(words[1:], " "))
			}
			words = nil
		default:
			words = append(words, word)
		}
	}
	return found
}

func settingsOfYAML(text string) map[string][]string {
	if _, err := strictyaml.Parse("", []byte(text), &strictyaml.Problems{}); err != nil {
		return nil // also of a document that is too large or too deep
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return nil
	}
	found := map[string][]string{}
	if left := maxSettings; !flatten(found, "", value, &left) {
		return nil
	}
	return found
}

// maxSettings is how many settings a file of the image can have; aliases repeat them.
const maxSettings = 100_000

// flatten returns false if there are more settings than left.
func flatten(found map[string][]string, at string, value any, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	below := func(name string) string {
		if at == "" {
			return name
		}
		return at + "." + name
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if !flatten(found, below(key), v[key], left) {
				return false
			}
		}
	case []any:
		for n, one := range v {
			switch one.(type) {
			case map[string]any, []any:
				if !flatten(found, below(fmt.Sprint(n)), one, left) {
					return false
				}
			default:
				found[at] = append(found[at], fmt.Sprint(one))
			}
		}
	default:
		found[at] = append(found[at], fmt.Sprint(v))
	}
	return true
}
