package parity

import (
	"cmp"
	_ "embed"
	"slices"
	"strings"
	"sync"

	"tare/internal/base/strictyaml"
)

// Class is why two environments differ in a fact.
type Class string

// The classes.
const (
	// Inherent: the layer itself causes it.
	Inherent Class = "inherent"
	// Chosen: the study asked the layer for it.
	Chosen Class = "chosen"
	// Confound: neither.
	Confound Class = "confound"
)

// Rules define for every fact how two values are compared, and how a difference
// is classified.
type Rules struct {
	Traits []Trait `yaml:"traits"`
	Rules  []Rule  `yaml:"rules"`
	// Accepted are findings that the study asks for by name: they are chosen.
	Accepted []string `yaml:"-"`
}

// Trait is a property of environments, derived from their kind, settings or label.
type Trait struct {
	Name   string   `yaml:"trait"`
	Kinds  []string `yaml:"kinds"`
	Labels []string `yaml:"labels"`
	// Asked are keys of the plan, each with a pattern for its value.
	Asked map[string]string `yaml:"asked"`
}

// Rule classifies facts that differ together, for one reason.
type Rule struct {
	// Finding names the cause. Facts of the same finding are shown together.
	Finding string   `yaml:"finding"`
	Facts   []string `yaml:"facts"` // patterns: * stands for anything
	When    When     `yaml:"when"`
	Class   Class    `yaml:"class"`
	// Compare is equal (the default), ignore, "within 5%", or set: the difference
	// is the members that only one side has.
	Compare string `yaml:"compare"`
	Reason  string `yaml:"reason"`
	// Effect is the likely effect on workloads that stress one of Workloads (all if
	// empty), and Remove how to remove the difference.
	Effect    string   `yaml:"effect"`
	Workloads []string `yaml:"workloads"`
	Remove    string   `yaml:"remove"`
	// Verdict is none where the confound makes a comparison meaningless, so that there
	// is no verdict on workloads that it affects; "" otherwise.
	Verdict string `yaml:"verdict"`
	// ChosenBy are keys of the plan: the difference is chosen if the setting of one
	// of them differs. ChosenWithinKindBy applies only between two environments of
	// one kind: there the comparison is about the settings; between two
	// kinds it is about the kinds, and the difference is a confound.
	ChosenBy           []string `yaml:"chosen_by"`
	ChosenWithinKindBy []string `yaml:"chosen_within_kind_by"`
}

// When restricts a rule. All given conditions must hold.
type When struct {
	Kinds  []string `yaml:"kinds"`  // the kind of one side
	Traits []string `yaml:"traits"` // a trait of one side
	Values []string `yaml:"values"` // patterns for the value of one side
	// Stresses: the workload stresses one of these.
	Stresses []string `yaml:"stresses"`
	// Differ are patterns of other facts: at least one fact of each must differ too.
	// Facts are other facts with a pattern for their value on one side. In both, {}
	// stands for the argument of the fact that the rule is applied to.
	Differ []string          `yaml:"differ"`
	Facts  map[string]string `yaml:"facts"`
}

func (w When) conditions() int {
	return min(1, len(w.Kinds)) + min(1, len(w.Traits)) + min(1, len(w.Values)) + min(1, len(w.Stresses)) + len(w.Differ) + len(w.Facts)
}

// The methods of comparing two values.
const (
	compareEqual  = "equal"
	compareSet    = "set"
	compareIgnore = "ignore"
	compareWithin = "within " // a share
)

// noVerdict is the value of verdict: in rules.
const noVerdict = "none"

// stresses are the values of stresses: in packs.
var stresses = []string{"cpu", "memory", "syscalls", "disk", "network", "start"}

//go:embed rules.yaml
var builtinText []byte

// Builtin returns the rules that are part of tare.
var Builtin = sync.OnceValue(func() *Rules {
	rules, err := Load("rules.yaml", builtinText)
	if err != nil {
		panic(err) // a test loads them
	}
	return rules
})

// Load parses rules. The error lists all problems with their positions.
func Load(file string, data []byte) (*Rules, error) {
	var problems strictyaml.Problems
	root, err := strictyaml.Parse(file, data, &problems)
	if err != nil {
		return nil, err
	}
	r := &Rules{}
	root.Decode(r)
	r.check(root)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return r, nil
}

func (r *Rules) check(root strictyaml.Node) {
	var traits []string
	for i, t := range r.Traits {
		at := root.At("traits", i)
		if t.Name == "" || len(t.Kinds)+len(t.Labels)+len(t.Asked) == 0 {
			at.Problemf("a trait needs a name (trait:), and at least one of kinds, labels and asked")
		}
		traits = append(traits, t.Name)
	}
	for i := range r.Rules {
		r.Rules[i].check(root.At("rules", i), traits)
	}
}

func (r *Rule) check(at strictyaml.Node, traits []string) {
	r.Compare = cmp.Or(r.Compare, compareEqual)
	if _, _, err := r.tolerance(); err != nil {
		at.At("compare").Problemf("compare: %s", err)
	}
	if len(r.Facts) == 0 {
		at.Problemf("facts: is missing; list at least one pattern, such as sysctl[net.core.*]")
	}
	for i, t := range r.When.Traits {
		if !slices.Contains(traits, t) {
			at.At("when", "traits", i).Problemf("%s", strictyaml.Unknown("trait", t, traits))
		}
	}
	for i, w := range r.Workloads {
		if !slices.Contains(stresses, w) {
			at.At("workloads", i).Problemf("%s", strictyaml.Unknown("kind of workload", w, stresses))
		}
	}
	if r.Compare == compareIgnore {
		if r.Reason == "" {
			at.Problemf("reason: is missing; explain why the fact is not compared")
		}
		return
	}
	for key, text := range map[string]string{"finding": r.Finding, "reason": r.Reason} {
		if text == "" {
			at.Problemf("%s: is missing", key)
		}
	}
	switch r.Class {
	case Confound:
		if r.Verdict != "" && r.Verdict != noVerdict {
			at.At("verdict").Problemf("%s", strictyaml.Unknown("verdict", r.Verdict, []string{noVerdict}))
		}
		for key, text := range map[string]string{"effect": r.Effect, "remove": r.Remove} {
			if text == "" {
				at.Problemf("%s: is missing; rules for confounds need it", key)
			}
		}
	case Chosen:
		if len(r.ChosenBy)+len(r.ChosenWithinKindBy) == 0 {
			at.Problemf("chosen_by: is missing; list the keys of the plan that choose it, such as options.network")
		}
	case Inherent:
	default:
		at.At("class").Problemf("%s", strictyaml.Unknown("class", string(r.Class), []string{string(Inherent), string(Chosen), string(Confound)}))
	}
}

// Confounds are the names of what can be a confound, in the order of the rules.
func (r *Rules) Confounds() (names []string) {
	for _, rule := range r.Rules {
		if (rule.Class == Confound || rule.Class == Chosen) && !slices.Contains(names, rule.Finding) {
			names = append(names, rule.Finding)
		}
	}
	return names
}

// Parameters are the parameters of workloads that conditions of rules name.
func (r *Rules) Parameters() (names []string) {
	for _, rule := range r.Rules {
		for key := range rule.When.Facts {
			if name := Argument(key); Match(parameters, key) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// fits reports whether a text matches a pattern, in which * matches any text.
func fits(pattern, text string) bool {
	first, rest, more := strings.Cut(pattern, "*")
	text, begins := strings.CutPrefix(text, first)
	if !begins || !more {
		return begins && text == ""
	}
	for {
		piece, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(text, piece)
		}
		_, text, begins = strings.Cut(text, piece)
		if !begins {
			return false
		}
		rest = after
	}
}

func fitsAny(patterns []string, text string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return fits(p, text) })
}
