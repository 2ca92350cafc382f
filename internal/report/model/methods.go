package model

import (
	_ "embed" // the sentences
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/base/visible"
	"tare/internal/parity"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/verdict"
)

// Statement is a sentence about how a run was made, with the sources of what it names.
type Statement struct {
	Text  string // without a full stop
	Cites []Reference
}

//go:embed methods.tmpl
var sentences string

var methods = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("methods").Funcs(template.FuncMap{
		"counted": quantity.Counted, "enumerate": enumerate, "limits": Limits, "freshness": freshness,
		"shown":   func(all []Environment) []string { return lists.Map(all, func(e Environment) string { return e.Shown }) },
		"figure":  func(unit string, v quantity.Bytes) string { return Figure(float64(v), unit) },
		"minutes": func(d time.Duration) string { return strings.Replace(d.String(), "m0s", "m", 1) },
		"versions": func(of map[string]string) []string {
			return lists.Filter(strings.Split(Versions(of), ", "), func(s string) bool { return s != "" })
		},
	}).Parse(sentences))
})

// statements are what the template has said of a run.
type statements struct {
	*Report
	text strings.Builder // of the sentence that is not ended
	all  []Statement
	next []Reference // of that sentence
}

// Methods is how the run was made and analysed, for the section of a paper.
func (v *Report) Methods() []Statement {
	s := &statements{Report: v}
	if err := methods().Execute(&s.text, s); err != nil {
		panic(err) // the template is part of the program
	}
	return s.all
}

// Stop ends a sentence.
func (s *statements) Stop() string {
	if text := strings.TrimSpace(s.text.String()); text != "" {
		s.all = append(s.all, Statement{visible.Line(text), s.next}) // a fact of a run is no line of its own
	}
	s.text.Reset()
	s.next = nil
	return ""
}

// Cite adds sources to the sentence.
func (s *statements) Cite(keys ...string) string {
	for _, key := range keys {
		s.next = append(s.next, s.reference(key))
	}
	return ""
}

// Shown are the environments with a comparison, after the baseline.
func (s *statements) Shown() []string {
	return append([]string{s.Base.Shown}, lists.Map(s.Compared(), func(e Environment) string { return e.Shown })...)
}

func (s *statements) WorkloadNames() []string {
	return lists.Map(s.Workloads, func(w Workload) string { return w.Name })
}

// WorkloadTitles are the names with what they are.
func (s *statements) WorkloadTitles() []string {
	return lists.Map(s.Workloads, func(w Workload) string {
		if w.Pack.Title == "" || w.Pack.Title == w.Name {
			return w.Name
		}
		return w.Name + " (" + ownParentheses.ReplaceAllString(w.Pack.Title, ", $1") + ")"
	})
}

// ownParentheses are those at the end of a title, which is put in parentheses itself.
var ownParentheses = regexp.MustCompile(` \(([^()]*)\)$`)

// Nodes is on how many nodes the blocks ran; "" for one.
func (s *statements) Nodes() string { return s.onNodes() }

// ServicesOnly reports whether the image of the run is that of roles on the host, since
// services have their own.
func (v *Report) ServicesOnly() bool {
	return v.Plan.Needs("") && !slices.Contains(v.Plan.ImageNames(false), "")
}

// Confounds are the names of those in a comparison, in the order in which they were found.
func (s *statements) Confounds(of parity.Summary) (names []string) {
	for _, c := range s.Parity {
		if c.Environment == of.Environment && c.Baseline == of.Baseline {
			for _, f := range c.Confounds() {
				names = appendNew(names, f.Finding)
			}
		}
	}
	return names
}

// Alternated is the number of rounds of the trials whose samples alternated; "" for none.
func (s *statements) Alternated() string {
	rounds := lists.Map(lists.Filter(s.Trials, alternated), func(t rundir.Trial) int { return len(t.Rounds) })
	if len(rounds) == 0 {
		return ""
	}
	return verdict.Rounds{Least: slices.Min(rounds), Most: slices.Max(rounds)}.String()
}

// Fresh are workloads whose instances are as old.
type Fresh struct {
	Per   string // trial, block, run
	Names []string
	All   bool // workloads of the plan
}

func freshness(workloads []study.Workload) (all []Fresh) {
	for _, per := range []string{"trial", "block", "run"} {
		of := lists.Filter(workloads, func(w study.Workload) bool { return w.Fresh == per })
		if len(of) > 0 {
			all = append(all, Fresh{per, lists.Map(of, func(w study.Workload) string { return w.Name }), len(of) == len(workloads)})
		}
	}
	return all
}

// Bounded reports whether there are intervals of the blocks.
func (s *statements) Bounded() bool {
	return slices.ContainsFunc(s.Contrasts, func(c verdict.Contrast) bool { return c.Bounded() && !c.Unpaired })
}

// Extended reports whether an interval has too few blocks for the signed-rank statistic at
// its level.
func (s *statements) Extended() bool {
	if s.Plan.Design.Blocks.Open {
		return false
	}
	const enough = 14 // at the level of any analysis
	return slices.ContainsFunc(s.Contrasts, func(c verdict.Contrast) bool { return c.Bounded() && c.IntervalN < enough })
}

// Family is the number of contrasts that share an error rate.
func (s *statements) Family() (most int) {
	for _, c := range s.Contrasts {
		most = max(most, c.Family)
	}
	return most
}

func (s *statements) OverNodes() bool {
	return slices.ContainsFunc(s.Contrasts, func(c verdict.Contrast) bool { return c.Nodes != nil })
}

// enumerate is a list in words: a, b and c.
func enumerate(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
