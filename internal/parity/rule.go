package parity

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"tare/internal/strictyaml"
)

// Class says why two environments differ in something.
type Class string

// The classes.
const (
	// Inherent: the layer itself implies it.
	Inherent Class = "inherent"
	// Chosen: the study asked the layer for it.
	Chosen Class = "chosen"
	// Confound: neither.
	Confound Class = "confound"
)

// Rules say of every fact how two values of it are compared, and what it means
// where they differ.
type Rules struct {
	Traits []Trait `yaml:"traits"`
	Rules  []Rule  `yaml:"rules"`
}

// Trait is something that environments have by their kind, by what they are
// asked for, or by their label.
type Trait struct {
	Name   string   `yaml:"trait"`
	Kinds  []string `yaml:"kinds"`
	Labels []string `yaml:"labels"`
	// Asked are keys of the plan, each with a pattern that its value fits.
	Asked map[string]string `yaml:"asked"`
}

// Rule is about facts that differ together, for one reason.
type Rule struct {
	// Finding names the cause in a few words: facts of one are shown together.
	Finding string   `yaml:"finding"`
	Facts   []string `yaml:"facts"` // patterns: * stands for anything
	When    When     `yaml:"when"`
	Class   Class    `yaml:"class"`
	// Compare is equal (the default), ignore, "within 5%", or set: the
	// difference is what each side has and the other has not.
	Compare string `yaml:"compare"`
	Reason  string `yaml:"reason"`
	// Effect is the likely one, on workloads that stress one of Workloads (all
	// where there are none), and Remove how to be rid of the difference.
	Effect    string   `yaml:"effect"`
	Workloads []string `yaml:"workloads"`
	Remove    string   `yaml:"remove"`
	// ChosenBy are keys of the plan. The difference is chosen where one of them
	// was asked for differently. ChosenWithinKindBy is so between two environments
	// of one kind alone: there the comparison is about what was asked; between two
	// kinds it is about the kinds, and the same thing stands in its way.
	ChosenBy           []string `yaml:"chosen_by"`
	ChosenWithinKindBy []string `yaml:"chosen_within_kind_by"`
}

// When bounds a rule; all that is given must hold.
type When struct {
	Kinds  []string `yaml:"kinds"`  // one of the two is of one of these
	Traits []string `yaml:"traits"` // one of the two has one of these
	Values []string `yaml:"values"` // one of the two values fits one of these patterns
	// Stresses: the workload stresses one of these.
	Stresses []string `yaml:"stresses"`
	// Differ are other facts in which the two differ as well, at least one of each
	// pattern; Facts are other facts whose value fits a pattern on one of the two
	// sides. In both {} stands for the text in the first brackets of the fact that
	// the rule is about.
	Differ []string          `yaml:"differ"`
	Facts  map[string]string `yaml:"facts"`
}

func (w When) conditions() int {
	return min(1, len(w.Kinds)) + min(1, len(w.Traits)) + min(1, len(w.Values)) + min(1, len(w.Stresses)) + len(w.Differ) + len(w.Facts)
}

// The ways in which two values are compared.
const (
	compareEqual  = "equal"
	compareSet    = "set"
	compareIgnore = "ignore"
	compareWithin = "within " // a share
)

// stresses are what packs say that they stress.
var stresses = []string{"cpu", "memory", "syscalls", "disk", "network", "start"}

//go:embed rules.yaml
var builtinText []byte

// Builtin are the rules that tare brings.
var Builtin = sync.OnceValue(func() *Rules {
	rules, err := Load("rules.yaml", builtinText)
	if err != nil {
		panic(err) // they are part of the program, and a test reads them
	}
	return rules
})

// Load reads rules. Everything that is wrong with them is in the error, with its
// place in the file.
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
			at.Problemf("a trait has a name (trait:), and kinds, labels or asked by which environments have it")
		}
		traits = append(traits, t.Name)
	}
	for i := range r.Rules {
		r.Rules[i].check(root.At("rules", i), traits)
	}
}

func (r *Rule) check(at strictyaml.Node, traits []string) {
	if r.Compare == "" {
		r.Compare = compareEqual
	}
	if _, _, err := r.tolerance(); err != nil {
		at.At("compare").Problemf("compare: %s", err)
	}
	if len(r.Facts) == 0 {
		at.Problemf("facts: is missing; name at least one, such as sysctl.net.core.*")
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
			at.Problemf("reason: is missing; say why the fact is not compared")
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
		for key, text := range map[string]string{"effect": r.Effect, "remove": r.Remove} {
			if text == "" {
				at.Problemf("%s: is missing, and the rule is about a confound", key)
			}
		}
	case Chosen:
		if len(r.ChosenBy)+len(r.ChosenWithinKindBy) == 0 {
			at.Problemf("chosen_by: is missing; name the keys of the plan that ask for it, such as options.network")
		}
	case Inherent:
	default:
		at.At("class").Problemf("%s", strictyaml.Unknown("class", string(r.Class), []string{string(Inherent), string(Chosen), string(Confound)}))
	}
}

// fits says whether text is as the pattern, in which * stands for anything.
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
