package parity

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"tare/internal/base/lists"
)

// Side is one of two compared environments, as the plan configures it.
type Side struct {
	Name, Kind, Label string
	// Asked are the options, limits and parameters by key: options.network,
	// limits.cpus, with.access_log. Usual are their defaults.
	Asked, Usual map[string]string
	// Into are the parameters from which the plan generates a fact, by its key: a
	// difference in command[driver] is attributed to them even if a value is shown
	// as something else (an address).
	Into map[string][]string
}

// Difference is one fact in which the two sides differ. A missing value is "".
type Difference struct {
	Fact        string `json:"fact"`
	Baseline    string `json:"baseline"`
	Environment string `json:"environment"`
	// Set: the values are the members that only this side has.
	Set bool `json:"set,omitempty"`
}

// Finding is a cause with all the differences that it explains.
type Finding struct {
	Finding string `json:"finding"`
	Class   Class  `json:"class"`
	Reason  string `json:"reason"`
	Effect  string `json:"effect,omitempty"`
	// Workloads are the stresses of workloads that it affects; empty for all.
	Workloads []string `json:"workloads,omitempty"`
	Remove    string   `json:"remove,omitempty"`
	// NoVerdict: it makes the comparison meaningless, so that there is no verdict.
	NoVerdict bool `json:"no_verdict,omitempty"`
	// Asked are the settings of the study that are related to it and differ, whether
	// or not they make it chosen: "docker: log=json-file".
	Asked       []string     `json:"asked,omitempty"`
	Differences []Difference `json:"differences"`
	// Touches is whether it affects the workload of the comparison: for confounds,
	// and for inherent findings with an effect.
	Touches bool `json:"touches"`
}

// Unseen is a fact that could not be compared.
type Unseen struct {
	Fact   string `json:"fact"`
	In     string `json:"in"` // the environment that does not expose it
	Reason string `json:"reason"`
}

// Comparison of an environment with its baseline, for one workload.
type Comparison struct {
	Environment string    `json:"environment"`
	Baseline    string    `json:"baseline"`
	Workload    string    `json:"workload"`
	Findings    []Finding `json:"findings"` // confounds, then chosen, then inherent
	Unseen      []Unseen  `json:"unseen,omitempty"`
	Same        int       `json:"same"` // facts that do not differ
}

// Confounds returns the findings that affect the workload and are neither chosen
// nor inherent.
func (c Comparison) Confounds() []Finding {
	return slices.DeleteFunc(slices.Clone(c.Findings), func(f Finding) bool { return f.Class != Confound || !f.Touches })
}

// NoRule is the finding of differences that no rule matches.
const NoRule = "no rule"

// unknown is the rule for facts that no rule matches.
var unknown = Rule{
	Finding: NoRule, Class: Confound, Compare: compareEqual,
	Reason: "no rule matches this difference, so it is not known whether the layer causes it",
	Effect: "not known",
	Remove: "make both sides the same, or, if the layer causes it, add a rule (docs/explanation/parity.md)",
}

// Compare finds and classifies all differences between two fingerprints of one
// workload. What the workload stresses decides which of them affect it.
func (r *Rules) Compare(baseline, environment Side, base, other Fingerprint, stresses string) Comparison {
	c := Comparison{Environment: environment.Name, Baseline: baseline.Name, Workload: other.Workload}
	m := &matcher{rules: r, a: baseline, b: environment, base: base.Facts, other: other.Facts, stresses: stresses}
	keys := map[string]bool{}
	for key := range base.Facts {
		keys[key] = true
	}
	for key := range other.Facts {
		keys[key] = true
	}
	type kind struct {
		finding string
		class   Class
	}
	index := map[kind]int{}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		x, y := base.fact(key), other.fact(key)
		if x.Missing == "" && y.Missing == "" && x.Value == y.Value { // for every rule
			c.Same++
			continue
		}
		rule := m.rule(key)
		if x.Missing != "" || y.Missing != "" {
			if rule.Compare != compareIgnore {
				c.Unseen = append(c.Unseen, unseen(key, baseline.Name, environment.Name, x, y)...)
			}
			continue
		}
		p, q, differ := rule.differ(x.Value, y.Value)
		if !differ {
			c.Same++
			continue
		}
		d := Difference{Fact: key, Baseline: readable(p), Environment: readable(q), Set: rule.Compare == compareSet}
		f := m.finding(rule, d)
		at := kind{f.Finding, f.Class}
		i, seen := index[at]
		if !seen {
			i = len(c.Findings)
			index[at] = i
			c.Findings = append(c.Findings, f)
		}
		c.Findings[i].add(f, d)
	}
	c.Findings = withoutDuplicates(c.Findings)
	slices.SortStableFunc(c.Findings, func(a, b Finding) int { return r.rank(a) - r.rank(b) })
	return c
}

// rank returns the position of a finding: confounds that affect the workload
// first, and within a class in the order of the rules.
func (r *Rules) rank(f Finding) int {
	class := map[Class]int{Confound: 1, Chosen: 2, Inherent: 3}[f.Class]
	if f.Class == Confound && f.Touches {
		class = 0
	}
	return class*(len(r.Rules)+1) + 1 + slices.IndexFunc(r.Rules, func(rule Rule) bool { return rule.Finding == f.Finding })
}

// fact returns a fact by its key. If the arguments of a key could not be
// enumerated, one missing fact with ? as the argument stands for all of them.
func (f Fingerprint) fact(key string) Fact {
	fact, there := f.Facts[key]
	if there {
		return fact
	}
	for known, unseen := range f.Facts {
		if before, _, stands := strings.Cut(known, "?]"); stands && unseen.Missing != "" && strings.HasPrefix(key, before) {
			return unseen
		}
	}
	return fact
}

// add adds another difference of the same cause. Two rules of one finding may
// have different workloads and related settings.
func (f *Finding) add(also Finding, d Difference) {
	f.Differences = append(f.Differences, d)
	f.Touches, f.NoVerdict = f.Touches || also.Touches, f.NoVerdict || also.NoVerdict
	f.Asked = lists.Add(f.Asked, also.Asked...)
}

// withoutDuplicates drops differing parameters that another finding of the same
// class lists as its cause.
func withoutDuplicates(findings []Finding) (kept []Finding) {
	for _, f := range findings {
		f.Differences = slices.DeleteFunc(f.Differences, func(d Difference) bool {
			return Match(parameters, d.Fact) && slices.ContainsFunc(findings, func(other Finding) bool {
				return other.Finding != f.Finding && other.Class == f.Class && other.Touches == f.Touches &&
					slices.ContainsFunc(other.Asked, func(asked string) bool {
						return strings.Contains(asked, ": "+with+Argument(d.Fact)+"=")
					})
			})
		})
		if len(f.Differences) == 0 {
			continue
		}
		f.Asked = slices.DeleteFunc(f.Asked, func(asked string) bool {
			return Match(parameters, f.Differences[0].Fact) && !slices.ContainsFunc(f.Differences, func(d Difference) bool {
				return strings.Contains(asked, ": "+with+Argument(d.Fact)+"=")
			})
		})
		kept = append(kept, f)
	}
	return kept
}

// readable replaces the placeholders in a value with words.
var readable = strings.NewReplacer(Address, "the instance's address", Instance, "the instance's name").Replace

// unseen returns which side does not expose a fact; nothing if neither does.
func unseen(key, baseline, environment string, x, y Fact) []Unseen {
	switch {
	case x.Missing != "" && y.Missing != "":
		return nil
	case x.Missing != "":
		return []Unseen{{key, baseline, x.Missing}}
	}
	return []Unseen{{key, environment, y.Missing}}
}

// matcher finds the rules for the facts of two sides.
type matcher struct {
	rules       *Rules
	a, b        Side
	base, other map[string]Fact
	stresses    string
}

// rule returns the most specific rule that matches a fact: that with the longest
// pattern, then the most conditions, then the first.
func (m *matcher) rule(key string) *Rule {
	best, long, many := &unknown, -1, -1
	bare, _ := SplitRole(key)
	for i := range m.rules.Rules {
		r := &m.rules.Rules[i]
		for _, pattern := range r.Facts {
			letters, conditions := len(pattern)-strings.Count(pattern, "*"), r.When.conditions()
			if letters < long || letters == long && conditions <= many || !fits(pattern, bare) || !m.holds(r.When, key) {
				continue
			}
			best, long, many = r, letters, conditions
		}
	}
	return best
}

func (m *matcher) holds(w When, key string) bool {
	if len(w.Kinds) > 0 && !slices.Contains(w.Kinds, m.a.Kind) && !slices.Contains(w.Kinds, m.b.Kind) {
		return false
	}
	if len(w.Traits) > 0 && !slices.ContainsFunc(w.Traits, func(t string) bool { return m.has(m.a, t) || m.has(m.b, t) }) {
		return false
	}
	if len(w.Values) > 0 && !fitsAny(w.Values, m.base[key].Value) && !fitsAny(w.Values, m.other[key].Value) {
		return false
	}
	if len(w.Stresses) > 0 && !slices.Contains(w.Stresses, m.stresses) {
		return false
	}
	_, role := SplitRole(key)
	own := func(pattern string) string { return strings.ReplaceAll(pattern, "{}", Argument(key)) }
	for pattern, value := range w.Facts {
		if !m.any(own(pattern), role, func(x, y Fact) bool { return fits(value, x.Value) || fits(value, y.Value) }) {
			return false
		}
	}
	return !slices.ContainsFunc(w.Differ, func(pattern string) bool {
		return !m.any(own(pattern), role, func(x, y Fact) bool { return x.Missing == "" && y.Missing == "" && x.Value != y.Value })
	})
}

// any reports whether a predicate holds for the two values of any fact that
// matches a pattern, in the instance of a role.
func (m *matcher) any(pattern, role string, holds func(x, y Fact) bool) bool {
	for _, facts := range []map[string]Fact{m.base, m.other} {
		for key := range facts {
			bare, of := SplitRole(key)
			if (of == role || ByRole(bare)) && fits(pattern, bare) && holds(m.base[key], m.other[key]) {
				return true
			}
		}
	}
	return false
}

func (m *matcher) has(s Side, trait string) bool {
	return slices.ContainsFunc(m.rules.Traits, func(t Trait) bool {
		if t.Name != trait {
			return false
		}
		if slices.Contains(t.Kinds, s.Kind) || s.Label != "" && slices.Contains(t.Labels, s.Label) {
			return true
		}
		for key, pattern := range t.Asked {
			if value, given := s.Asked[key]; given && fits(pattern, value) {
				return true
			}
		}
		return false
	})
}

// finding returns the finding of a rule for a difference.
func (m *matcher) finding(r *Rule, d Difference) Finding {
	f := Finding{Finding: r.Finding, Class: r.Class, Reason: r.Reason, Effect: r.Effect, Workloads: r.Workloads, Remove: r.Remove, NoVerdict: r.Verdict == noVerdict,
		Touches: len(r.Workloads) == 0 || slices.Contains(r.Workloads, m.stresses)}
	always := m.asked(r.ChosenBy, d)
	f.Asked = append(always, m.asked(r.ChosenWithinKindBy, d)...)
	switch {
	case len(always) > 0, m.a.Kind == m.b.Kind && m.differ(r.ChosenWithinKindBy, d):
		f.Class = Chosen
	case r.Class == Chosen:
		// The study did not ask for it.
		f.Class = Confound
	}
	if f.Class == Confound && slices.Contains(m.rules.Accepted, f.Finding) {
		f.Class, f.Asked = Chosen, append(f.Asked, "accept: "+f.Finding)
	}
	if f.Class == Chosen || f.Effect == "" {
		f.Effect, f.Remove, f.Workloads, f.Touches, f.NoVerdict = "", "", nil, false, false
	}
	return f
}

// with is the prefix of the keys of parameters, and parameters the pattern of the
// facts of their values.
const (
	with       = "with."
	parameters = "parameter[*]"
)

// asked lists the settings of these keys that differ between the sides and are
// related to a difference. A parameter that matches only a * is related if the
// plan uses it for the fact, or if its value occurs in it: not every parameter
// affects every key of a configuration.
func (m *matcher) asked(patterns []string, d Difference) (list []string) {
	for _, one := range m.askings(patterns, d) {
		if parameter, is := strings.CutPrefix(one.key, with); is && !one.named && !m.into(parameter, d.Fact) && !mentions(d.Fact, one.value) &&
			!mentions(map[string]string{m.a.Name: d.Baseline, m.b.Name: d.Environment}[one.side], one.value) {
			continue
		}
		list = append(list, one.side+": "+strings.TrimPrefix(one.key, "options.")+"="+one.value)
	}
	return list
}

// into reports whether the plan uses a parameter for a fact.
func (m *matcher) into(parameter, fact string) bool {
	bare, _ := SplitRole(fact)
	return slices.Contains(m.a.Into[bare], parameter) || slices.Contains(m.b.Into[bare], parameter)
}

// differ reports whether the settings of any of these keys differ.
func (m *matcher) differ(patterns []string, d Difference) bool {
	return len(m.askings(patterns, d)) > 0
}

// asking is a setting of one side. named: the key was given without a *.
type asking struct {
	side, key, value string
	named            bool
}

// askings returns the settings that differ between the sides. A setting with its
// default value is left out, even if the defaults of two kinds differ. In a key,
// {} stands for the argument of the fact.
func (m *matcher) askings(patterns []string, d Difference) (list []asking) {
	named := map[string]bool{}
	for _, pattern := range patterns {
		pattern = strings.ReplaceAll(pattern, "{}", Argument(d.Fact))
		for _, s := range []Side{m.a, m.b} {
			for key := range s.Asked {
				if fits(pattern, key) {
					named[key] = named[key] || pattern == key
				}
			}
		}
	}
	for _, key := range slices.Sorted(maps.Keys(named)) {
		if m.a.Asked[key] == m.b.Asked[key] {
			continue
		}
		for _, s := range []Side{m.a, m.b} {
			if s.Asked[key] != s.Usual[key] {
				list = append(list, asking{s.Name, key, s.Asked[key], named[key]})
			}
		}
	}
	return list
}

// mentions reports whether a text contains a value as a whole word.
func mentions(text, value string) bool {
	if value == "" {
		return false
	}
	part := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for at := 0; ; at++ {
		next := strings.Index(text[at:], value)
		if next < 0 {
			return false
		}
		at += next
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[at+len(value):])
		if !part(before) && !part(after) {
			return true
		}
	}
}
