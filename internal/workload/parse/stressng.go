package parse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

var (
	stressMessage = expression(`^stress-ng: (?:\d\d:\d\d:\d\d\.\d+ )?(\w+): +\[\d+\] (.*)$`)
	stressHogs    = expression(`^stress-ng: .*info: +\[\d+\] dispatching hogs: `)
	stressTime    = expression(`^stress-ng: .*info: +\[\d+\] (?:setting|defaulting) to a `)
	stressInvoked = expression(`^stress-ng: .*debug: +\[\d+\] invoked with '(.*)' by user`)
	stressSetting = expression(`^setting to a (.*) run per stressor$`)
	stressLength  = expression(`^([0-9.]+) ?(d|h|m|s)[a-z]*$`)
	stressBrief   = expression(`^(?:setting|defaulting) to a .* run per stressor$`)
	stressLimit   = expression(` --[a-z0-9-]+-ops[ =](\d+)(?: |$)`)
	stressDebug   = expression(`^stress-ng: [0-9:. ]*debug: `)
	stressHead    = expression(`^stressor +bogo ops +real time +usr time +sys time +bogo ops/s +bogo ops/s( +CPU used per +RSS Max)?$`)
	stressUnits   = expression(`^ +\(secs\) +\(secs\) +\(secs\) +\(real time\) \(usr\+sys time\)( +instance \(%\) +\(KB\))?$`)
	stressRow     = expression(`^([a-z][a-z0-9-]*) +(\d+) +([0-9.]+(?:e[+-]\d+)?) +([0-9.]+(?:e[+-]\d+)?) +([0-9.]+(?:e[+-]\d+)?) +([0-9.]+(?:e[+-]\d+)?) +([0-9.]+(?:e[+-]\d+)?)( +[0-9.e+-]+ +\d+)?$`)
	stressColumns = strings.Fields("bogo_ops real_seconds user_seconds system_seconds bogo_ops_per_second_real bogo_ops_per_second_cpu")
)

func readStressNG(r *reading) {
	var text, yaml []string
	for _, line := range r.lines {
		if strings.HasPrefix(line, "stress-ng: ") {
			text = append(text, line)
		} else if line != "" && !aroundOutput.match(line) {
			yaml = append(yaml, line)
		}
	}
	if len(text) == 0 && len(yaml) == 0 {
		fail("stress-ng printed nothing: is its standard error (2>&1) missing?")
	}
	if last := r.lines[len(r.lines)-1]; last != "..." && !strings.Contains(last, stressEnd) {
		r.wholeLines()
	}
	if len(yaml) > 0 {
		r.stressYAML(yaml)
	}
	// The text comes last, so that its values are the same with and without the YAML.
	if len(text) > 0 {
		r.stressText()
	}
}

// stressEnd is behind the table, except in old versions, which print the table last.
const stressEnd = "successful run completed in "

// stressText reads the table. Old versions print it as messages of kind info.
func (r *reading) stressText() {
	completed, more := false, false
	planned, took, limit := 0., 0., ""
	var stressors []string
	for _, line := range r.each(r.lines) {
		m := stressMessage.find(line)
		switch {
		case !strings.HasPrefix(line, "stress-ng: "):
			continue
		case m != nil && m[0] == "debug": // of -v
			if command := stressInvoked.find(line); command != nil {
				limit = strings.Join(stressLimit.find(command[0]), "")
			}
			continue
		case m == nil, m[0] != "info" && m[0] != "metrc", strings.Contains(line, "unsuccessful run"):
			fail("stress-ng reports %q", clip(line))
		case stressHead.match(m[1]), stressUnits.match(m[1]):
			continue
		}
		switch row := stressRow.find(m[1]); {
		case m[1] == "miscellaneous metrics:":
			more = true // of some stressors, a line each
		case row != nil && !more:
			stressors = append(stressors, row[0])
			r.take(line, row[1:], stressColumns...)
		case m[0] == "info":
			if end, last := strings.CutPrefix(m[1], stressEnd); last {
				completed, took = true, stressSeconds(end)
			}
			if time := stressSetting.find(m[1]); time != nil {
				planned = stressSeconds(time[0])
			}
		case !more:
			fail("%q is no line that tare knows of stress-ng", clip(line))
		}
	}
	if !completed {
		fail("no run was completed: %s", ending(r.lines))
	}
	oneStressor(stressors, r.lines)
	r.stressInterrupted(stressors[0], limit, planned, took)
}

// stressSeconds reads "5.03s", "90 second (1 min, 30.00 secs)", or "1 min, 30 secs" of newer
// versions; 0 if it is none of them.
func stressSeconds(text string) (seconds float64) {
	text, _, _ = strings.Cut(text, " (")
	unit := map[string]float64{"d": 86400, "h": 3600, "m": 60, "s": 1}
	for part := range strings.SplitSeq(text, ", ") {
		m := stressLength.find(part)
		if m == nil {
			return 0
		}
		seconds += number(m[0], text) * unit[m[1]]
	}
	return seconds
}

// stressInterrupted refuses a run that a signal ended, which stress-ng calls successful. A
// number of operations ends one early too; only -v prints it, as an option.
func (r *reading) stressInterrupted(stressor, limit string, planned, took float64) {
	done, early := r.fields["bogo_ops"], took > 0 && took < shortest*planned
	switch {
	case limit != "" && done < number(limit, limit) && (early || planned == 0):
		fail("stress-ng was to do %s bogo operations and did %g: it was interrupted", limit, done)
	case limit == "" && early:
		fail("stress-ng was to run for %g s and ran for %g s: it was interrupted, or a number of operations (--%s-ops) ended it, which it does not print. "+
			"Run it without --timeout, or with -v, which prints the options", planned, took, stressor)
	}
}

func (r *reading) stressYAML(text []string) {
	if text[0] != "---" || text[len(text)-1] != "..." {
		fail("stress-ng's YAML goes from --- to ..., this from %q to %q", clip(text[0]), clip(text[len(text)-1]))
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
		fail("stress-ng's YAML: %w", err)
	}
	var stressors []string
	for _, m := range document.Metrics {
		stressors = append(stressors, m.Stressor)
	}
	oneStressor(stressors, text)
	m := document.Metrics[0]
	for i, v := range []*float64{m.Ops, m.Real, m.User, m.System, m.PerReal, m.PerCPU} {
		r.add(stressColumns[i], v)
	}
	r.need("stress-ng", text, stressColumns...)
}

func oneStressor(stressors, text []string) {
	switch len(stressors) {
	case 1:
	case 0:
		fail("stress-ng printed no metrics (--metrics-brief is needed, and --yaml wants it too, without --quiet): %s", ending(text))
	default:
		fail("metrics of %d stressors, %s: run one at a time", len(stressors), strings.Join(stressors, ", "))
	}
}

// splitStressNG splits before a run's first message or, if there is only YAML, before each
// document. Old versions do not say how long a run is to take.
func splitStressNG(file []byte) ([][]byte, error) {
	for at, line := range eachLine(file) {
		if stressBrief.match(line) {
			return nil, atLine(at.number, fmt.Errorf("%q is of stress-ng with --log-brief, which leaves out the name in its messages: run it without --log-brief", clip(line)))
		}
	}
	first := func(line string) bool { return line == "---" }
	for _, message := range []*pattern{stressHogs, stressTime, stressInvoked} {
		if slices.ContainsFunc(lines(file), message.match) {
			first = message.match
		}
	}
	own := func(line string) bool { return strings.HasPrefix(line, "stress-ng: ") && !stressDebug.match(line) }
	return splitAt(file, first, ownOf(own))
}
