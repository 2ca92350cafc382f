package bench

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/study"
	"tare/internal/workload"
)

// scan is a parameter of the command with its values; without a name there is none.
type scan struct{ name, from, to, step string }

var scanForm = regexp.MustCompile(`^([a-z][a-z0-9_]*),([^,]+),([^,]+)(?:,([^,]+))?$`)

// scanned is the parameter of --parameter-scan, which some command has to name.
func (o Options) scanned() (s scan, err error) {
	if o.Scan == "" {
		return s, nil
	}
	m := scanForm.FindStringSubmatch(o.Scan)
	if m == nil {
		return s, fmt.Errorf("--parameter-scan %q: expected NAME,FROM,TO or NAME,FROM,TO,STEP, such as threads,1,8,1; {threads} in the command is each value in turn", o.Scan)
	}
	s = scan{m[1], m[2], m[3], m[4]}
	if s.step == "" {
		s.step = "1"
	}
	if slices.Contains(workload.Reserved, s.name) || slices.Contains(workload.SoftReserved, s.name) {
		return s, fmt.Errorf("--parameter-scan %s: a workload of a study has a key of this name: choose another", s.name)
	}
	texts := slices.Concat(o.Argv, o.Setup, o.Prepare, o.Cleanup)
	if !slices.ContainsFunc(texts, func(text string) bool { return s.put(text) != text }) {
		return s, fmt.Errorf("--parameter-scan %s: no command has {%s}, so all values would measure the same", s.name, s.name)
	}
	return s, nil
}

func (s scan) sweep() study.Sweep {
	return study.Sweep{Parameter: s.name, From: s.from, To: s.to, Step: s.step}
}

// put makes {NAME} the parameter of a pack; ${NAME} is the shell's.
func (s scan) put(text string) string {
	return regexp.MustCompile(`\$*\{`+s.name+`\}`).ReplaceAllStringFunc(text, func(found string) string {
		if strings.HasPrefix(found, "$") {
			return found
		}
		return "$" + found
	})
}

// in gives a pack the parameter. A step with a fraction makes all values numbers with one.
func (s scan) in(p *workload.Pack) *workload.Pack {
	if s.name == "" {
		return p
	}
	example := s.from
	if strings.Contains(s.step, ".") {
		example = s.step
	}
	p.Parameters = map[string]workload.Parameter{s.name: {Default: example, About: "of --parameter-scan"}}
	steps := func(steps []workload.Step) []workload.Step {
		return lists.Map(steps, func(step workload.Step) workload.Step {
			step.Run, step.Argv = s.put(step.Run), lists.Map(step.Argv, s.put)
			return step
		})
	}
	p.Driver = &steps([]workload.Step{*p.Driver})[0]
	p.Begin, p.Setup, p.End = steps(p.Begin), steps(p.Setup), steps(p.End)
	return p
}
