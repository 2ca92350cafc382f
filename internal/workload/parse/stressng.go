package parse

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
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

func stressYAML(text []string) (map[string]float64, error) {
	if text[0] != "---" || text[len(text)-1] != "..." {
		return nil, fmt.Errorf("stress-ng's YAML goes from --- to ..., this from %q to %q", clip(text[0]), clip(text[len(text)-1]))
	}
	var document struct {
		Metrics []struct {
			Stressor string   `yaml:"stressor"`
			Ops      *float64 `yaml:"bogo-ops"`
			Real     *float64 `yaml:"wall-clock-time"`
			User     *float64 `yaml:"user-time"`
			System   *float64 `yaml:"system-time"`
			PerReal  *float64 `yaml:"bogo-ops-per-second-real-time"`
			PerCPU   *float64 `yaml:"bogo-ops-per-second-usr-sys-time"`
		} `yaml:"metrics"`
	}
	if err := yaml.Unmarshal([]byte(strings.Join(text, "\n")), &document); err != nil {
		return nil, fmt.Errorf("stress-ng's YAML: %w", err)
	}
	var stressors []string
	for _, m := range document.Metrics {
		stressors = append(stressors, m.Stressor)
	}
	if err := oneStressor(stressors, text); err != nil {
		return nil, err
	}
	m, fields := document.Metrics[0], map[string]float64{}
	for i, v := range []*float64{m.Ops, m.Real, m.User, m.System, m.PerReal, m.PerCPU} {
		put(fields, stressColumns[i], v)
	}
	return fields, complete("stress-ng", fields, text, stressColumns...)
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
