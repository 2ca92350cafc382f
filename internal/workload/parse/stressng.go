package parse

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var stressNG = Parser{
	Name:     "stress-ng",
	About:    "stress-ng --metrics or --metrics-brief (with 2>&1: it prints to standard error), --yaml (which has more digits), or both, when the text is used; one stressor",
	Versions: "0.15.06",
	Fields: []Field{
		{"bogo_ops", "op"}, {"real_seconds", "s"}, {"user_seconds", "s"}, {"system_seconds", "s"},
		{"bogo_ops_per_second_real", "op/s"}, {"bogo_ops_per_second_cpu", "op/s"},
	},
	Parse: parseStressNG,
	Split: splitStressNG,
	Settings: settingsIn(`^stress-ng: info: +\[\d+\] dispatching hogs: (?P<workers>\d+) (?P<stressor>[a-z0-9-]+)$`, `^    - stressor: (?P<stressor>\S+)$`,
		`^ +stress-ng-version: (?P<version>\S+)$`),
}

var (
	stressMessage = regexp.MustCompile(`^stress-ng: (\w+): +\[\d+\] (.*)$`)
	stressHead    = regexp.MustCompile(`^stressor +bogo ops +real time +usr time +sys time +bogo ops/s +bogo ops/s( +CPU used per +RSS Max)?$`)
	stressUnits   = regexp.MustCompile(`^ +\(secs\) +\(secs\) +\(secs\) +\(real time\) \(usr\+sys time\)( +instance \(%\) +\(KB\))?$`)
	stressRow     = regexp.MustCompile(`^([a-z][a-z0-9-]*) +(\d+) +([0-9.]+) +([0-9.]+) +([0-9.]+) +([0-9.]+) +([0-9.]+)( +[0-9.]+ +\d+)?$`)
	stressColumns = []string{"bogo_ops", "real_seconds", "user_seconds", "system_seconds", "bogo_ops_per_second_real", "bogo_ops_per_second_cpu"}

	stressEntry = regexp.MustCompile(`^    - stressor: (\S+)$`)
	stressPair  = regexp.MustCompile(`^      ([a-z0-9-]+): (.+)$`)
	stressKeys  = map[string]string{
		"bogo-ops": "bogo_ops", "wall-clock-time": "real_seconds", "user-time": "user_seconds", "system-time": "system_seconds",
		"bogo-ops-per-second-real-time": "bogo_ops_per_second_real", "bogo-ops-per-second-usr-sys-time": "bogo_ops_per_second_cpu",
	}
)

func parseStressNG(stdout []byte) (map[string]float64, error) {
	if err := endsWithALine(stdout); err != nil {
		return nil, err
	}
	var text, yaml []string
	for _, line := range lines(stdout) {
		if strings.HasPrefix(line, "stress-ng: ") {
			text = append(text, line)
		} else if line != "" {
			yaml = append(yaml, line)
		}
	}
	if len(text) == 0 && len(yaml) == 0 {
		return nil, fmt.Errorf("stress-ng printed nothing: is its standard error (2>&1) missing?")
	}
	var fields map[string]float64
	var err error
	if len(yaml) > 0 {
		if fields, err = stressYAML(yaml); err != nil {
			return nil, err
		}
	}
	// The text comes first, so that its values are the same with and without the
	// YAML.
	if len(text) > 0 {
		return stressText(text)
	}
	return fields, nil
}

func stressText(text []string) (map[string]float64, error) {
	fields, completed := map[string]float64{}, false
	var stressors []string
	for _, line := range text {
		m := stressMessage.FindStringSubmatch(line)
		switch {
		case m == nil, m[1] != "info" && m[1] != "metrc", strings.Contains(line, "unsuccessful run"):
			return nil, fmt.Errorf("stress-ng reports %q", clip(line))
		case m[1] == "info":
			completed = completed || strings.HasPrefix(m[2], "successful run completed in ")
		case stressHead.MatchString(m[2]), stressUnits.MatchString(m[2]):
		default:
			row := stressRow.FindStringSubmatch(m[2])
			if row == nil {
				return nil, fmt.Errorf("stress-ng 0.15 does not print such a line: %q", clip(line))
			}
			stressors = append(stressors, row[1])
			if err := take(fields, line, row[2:], stressColumns...); err != nil {
				return nil, err
			}
		}
	}
	if !completed {
		return nil, fmt.Errorf("no run was completed: %s", ending(text))
	}
	return fields, oneStressor(stressors, text)
}

func stressYAML(yaml []string) (map[string]float64, error) {
	if yaml[0] != "---" || yaml[len(yaml)-1] != "..." {
		return nil, fmt.Errorf("stress-ng's YAML goes from --- to ..., this from %q to %q", clip(yaml[0]), clip(yaml[len(yaml)-1]))
	}
	fields := map[string]float64{}
	var stressors []string
	section := ""
	for _, line := range yaml[1 : len(yaml)-1] {
		if m := stressEntry.FindStringSubmatch(line); m != nil && section == "metrics:" {
			stressors = append(stressors, m[1])
		} else if m := stressPair.FindStringSubmatch(line); m != nil && section != "" {
			name, wanted := stressKeys[m[1]]
			if section != "metrics:" || !wanted {
				continue
			}
			if _, twice := fields[name]; twice && len(stressors) < 2 {
				return nil, fmt.Errorf("a second line of the same kind: %q", clip(line))
			}
			if err := take(fields, line, m[2:], name); err != nil {
				return nil, err
			}
		} else if line == "system-info:" || line == "metrics:" {
			section = line
		} else {
			return nil, fmt.Errorf("stress-ng 0.15 does not print such a line: %q", clip(line))
		}
	}
	if err := oneStressor(stressors, yaml); err != nil {
		return nil, err
	}
	for _, name := range stressColumns {
		if _, ok := fields[name]; !ok {
			return nil, fmt.Errorf("no %s: stress-ng's metrics are not complete; %s", strings.ReplaceAll(name, "_", " "), ending(yaml))
		}
	}
	return fields, nil
}

func oneStressor(stressors, text []string) error {
	switch len(stressors) {
	case 1:
		return nil
	case 0:
		return fmt.Errorf("stress-ng printed no metrics (--metrics-brief is needed, and --yaml wants it too, without --quiet): %s", ending(text))
	}
	return fmt.Errorf("metrics of %d stressors, %s: run one at a time", len(stressors), strings.Join(stressors, ", "))
}

// splitStressNG splits before a run's first message or, if there is only YAML,
// before each document.
func splitStressNG(file []byte) ([][]byte, error) {
	first := func(line string) bool {
		m := stressMessage.FindStringSubmatch(line)
		return m != nil && m[1] == "info" && strings.HasPrefix(m[2], "setting to a ")
	}
	if !slices.ContainsFunc(lines(file), first) {
		first = func(line string) bool { return line == "---" }
	}
	return splitAt(file, first)
}
