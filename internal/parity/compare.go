package parity

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Side is what the plan says of one of two environments.
type Side struct {
	Name, Kind, Label string
	// Asked are the options, limits and parameters by their keys: options.network,
	// limits.cpus, with.access_log. Usual is what each is where nobody asks.
	Asked, Usual map[string]string
	// Into are the parameters whose values stand in a fact as the plan makes it, by
	// its key: what differs in command[driver] is known to come from them, also
	// where a value is shown as another word (an address).
	Into map[string][]string
}

// Difference is one fact in which the two sides differ. A value that is not there
// is "".
type Difference struct {
	Fact        string `json:"fact"`
	Baseline    string `json:"baseline"`
	Environment string `json:"environment"`
	// Set: the values are what each side has and the other has not.
	Set bool `json:"set,omitempty"`
}

// Finding is a cause with all differences that it explains.
type Finding struct {
	Finding string `json:"finding"`
	Class   Class  `json:"class"`
	Reason  string `json:"reason"`
	Effect  string `json:"effect,omitempty"`
	// Workloads are what a workload must stress for the effect; empty is anything.
	Workloads []string `json:"workloads,omitempty"`
	Remove    string   `json:"remove,omitempty"`
	// Asked is what the study asks for differently and has to do with it, whether
	// or not that makes it chosen: "docker: log=json-file".
	Asked       []string     `json:"asked,omitempty"`
	Differences []Difference `json:"differences"`
	// Touches says whether the workload of the comparison is one that it affects: of
	// a confound, and of what is inherent and has an effect to be told.
	Touches bool `json:"touches"`
}

// Unseen is a fact that could not be compared.
type Unseen struct {
	Fact   string `json:"fact"`
	In     string `json:"in"` // the environment that does not give it
	Reason string `json:"reason"`
}

// Comparison is an environment beside its baseline, with one workload in both.
type Comparison struct {
	Environment string    `json:"environment"`
	Baseline    string    `json:"baseline"`
	Workload    string    `json:"workload"`
	Findings    []Finding `json:"findings"` // confounds, then chosen, then inherent
	Unseen      []Unseen  `json:"unseen,omitempty"`
	Same        int       `json:"same"` // facts that do not differ
}

// Confounds are the findings that touch the workload and are no one's choice and
// no part of the layer.
func (c Comparison) Confounds() []Finding {
	return slices.DeleteFunc(slices.Clone(c.Findings), func(f Finding) bool { return f.Class != Confound || !f.Touches })
}

// NoRule is the finding of differences that no rule knows.
const NoRule = "no rule"

// unknown is the rule of facts that have none.
var unknown = Rule{
	Finding: NoRule, Class: Confound, Compare: compareEqual,
	Reason: "no rule knows this difference, so it may be what the layer implies or not",
	Effect: "not known",
	Remove: "make both sides alike; or, where the layer implies it, add a rule (docs/parity.md)",
}

// Compare finds all differences between two fingerprints of one workload, and
// classes them. What the workload stresses decides what touches it.
func (r *Rules) Compare(baseline, environment Side, base, other Fingerprint, stresses string) Comparison {
	c := Comparison{Environment: environment.Name, Baseline: baseline.Name, Workload: other.Workload}
	m := &matching{rules: r, a: baseline, b: environment, base: base.Facts, other: other.Facts, stresses: stresses}
	keys := map[string]bool{}
	for key := range base.Facts {
		keys[key] = true
	}
	for key := range other.Facts {
		keys[key] = true
	}
	index := map[[2]string]int{}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		x, y := base.fact(key), other.fact(key)
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
		d := Difference{Fact: key, Baseline: spoken(p), Environment: spoken(q), Set: rule.Compare == compareSet}
		f := m.finding(rule, d)
		at := [2]string{f.Finding, string(f.Class)}
		i, seen := index[at]
		if !seen {
			i = len(c.Findings)
			index[at] = i
			c.Findings = append(c.Findings, f)
		}
		c.Findings[i].add(f, d)
	}
	c.Findings = withoutTold(c.Findings)
	slices.SortStableFunc(c.Findings, func(a, b Finding) int { return r.place(a) - r.place(b) })
	return c
}

// place is where a finding stands among others: confounds that touch the workload
// first, and within a class in the order of the rules.
func (r *Rules) place(f Finding) int {
	class := map[Class]int{Confound: 1, Chosen: 2, Inherent: 3}[f.Class]
	if f.Class == Confound && f.Touches {
		class = 0
	}
	return class*(len(r.Rules)+1) + 1 + slices.IndexFunc(r.Rules, func(rule Rule) bool { return rule.Finding == f.Finding })
}

// fact by its key. Where what lies in brackets could not be seen at all, one fact
// with a ? there is missing, and stands for all that it would have been.
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

// add takes another difference of the same cause. Two rules of one finding may
// concern different workloads and have been asked for differently.
func (f *Finding) add(also Finding, d Difference) {
	f.Differences = append(f.Differences, d)
	f.Touches = f.Touches || also.Touches
	for _, asked := range also.Asked {
		if !slices.Contains(f.Asked, asked) {
			f.Asked = append(f.Asked, asked)
		}
	}
}

// withoutTold drops parameters that differ where another finding of the same
// weight says already that the study asks for them: what they do is told there.
func withoutTold(findings []Finding) (kept []Finding) {
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

// spoken is a value as people read it: words in place of what stands for
// something that is another one in each instance.
var spoken = strings.NewReplacer(Address, "the instance's address", Instance, "the instance's name").Replace

// unseen says who does not give a fact. What neither gives is not worth a line.
func unseen(key, baseline, environment string, x, y Fact) []Unseen {
	switch {
	case x.Missing != "" && y.Missing != "":
		return nil
	case x.Missing != "":
		return []Unseen{{key, baseline, x.Missing}}
	}
	return []Unseen{{key, environment, y.Missing}}
}

// matching finds rules for the facts of two sides.
type matching struct {
	rules       *Rules
	a, b        Side
	base, other map[string]Fact
	stresses    string
}

// rule is the most specific one that fits a fact: the most letters in the
// pattern, then the most conditions, then the first.
func (m *matching) rule(key string) *Rule {
	best, long, many := &unknown, -1, -1
	bare, _ := Apart(key)
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

func (m *matching) holds(w When, key string) bool {
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
	_, role := Apart(key)
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

// any says whether something holds of the two values of a fact of this pattern,
// in the instance that plays the role.
func (m *matching) any(pattern, role string, holds func(x, y Fact) bool) bool {
	for _, facts := range []map[string]Fact{m.base, m.other} {
		for key := range facts {
			bare, of := Apart(key)
			if (of == role || ByRole(bare)) && fits(pattern, bare) && holds(m.base[key], m.other[key]) {
				return true
			}
		}
	}
	return false
}

func (m *matching) has(s Side, trait string) bool {
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

// finding is what a rule says of a difference.
func (m *matching) finding(r *Rule, d Difference) Finding {
	f := Finding{Finding: r.Finding, Class: r.Class, Reason: r.Reason, Effect: r.Effect, Workloads: r.Workloads, Remove: r.Remove,
		Touches: len(r.Workloads) == 0 || slices.Contains(r.Workloads, m.stresses)}
	always := m.asked(r.ChosenBy, d)
	f.Asked = append(always, m.asked(r.ChosenWithinKindBy, d)...)
	switch {
	case len(always) > 0, m.a.Kind == m.b.Kind && m.differ(r.ChosenWithinKindBy, d):
		f.Class = Chosen
	case r.Class == Chosen:
		// What would be a choice was not asked for.
		f.Class = Confound
	}
	if f.Class == Chosen || f.Effect == "" {
		f.Effect, f.Remove, f.Workloads, f.Touches = "", "", nil, false
	}
	return f
}

// with is what the keys of parameters begin with, and parameters the facts of
// their values.
const (
	with       = "with."
	parameters = "parameter[*]"
)

// asked lists what of these keys the two sides were asked for differently and has
// to do with a difference. A parameter that only a * stands for has where the plan
// puts it there, or its value occurs in it: a configuration differs by some of
// them, not by each.
func (m *matching) asked(patterns []string, d Difference) (list []string) {
	for _, one := range m.askings(patterns, d) {
		if parameter, is := strings.CutPrefix(one.key, with); is && !one.named && !m.into(parameter, d.Fact) && !mentions(d.Fact, one.value) &&
			!mentions(map[string]string{m.a.Name: d.Baseline, m.b.Name: d.Environment}[one.side], one.value) {
			continue
		}
		list = append(list, one.side+": "+strings.TrimPrefix(one.key, "options.")+"="+one.value)
	}
	return list
}

// into says whether the plan puts a parameter into a fact.
func (m *matching) into(parameter, fact string) bool {
	bare, _ := Apart(fact)
	return slices.Contains(m.a.Into[bare], parameter) || slices.Contains(m.b.Into[bare], parameter)
}

// differ says whether the two sides were asked differently for any of these keys.
func (m *matching) differ(patterns []string, d Difference) bool {
	return len(m.askings(patterns, d)) > 0
}

// asking is something that a side was asked for. Named: by a key without a *.
type asking struct {
	side, key, value string
	named            bool
}

// askings are what the two sides were asked for differently. What both have as it
// usually is was asked for by nobody, though kinds have other defaults. In a key
// {} stands for the text in the first brackets of the fact.
func (m *matching) askings(patterns []string, d Difference) (list []asking) {
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

// mentions says whether a text has a value in it, not as a part of a longer word.
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
