package parity

import (
	"strings"
	"testing"
)

// sample is a fact of a kind: what stands for * is a plain word.
func sample(pattern string) string { return strings.ReplaceAll(pattern, "*", "x") }

func TestEveryKindOfFactHasARuleOfItsOwn(t *testing.T) {
	for _, k := range Keys() {
		key := sample(k.Name)
		m := &matcher{rules: Builtin(), a: Side{Kind: "native"}, b: Side{Kind: "docker"}}
		if r := m.rule(key); r == &unknown {
			t.Errorf("no rule knows %s", k.Name)
		}
	}
}

func TestEveryRuleIsAboutFactsThatThereAre(t *testing.T) {
	for _, r := range Builtin().Rules {
		for _, pattern := range append(append([]string{}, r.Facts...), r.When.Differ...) {
			key := sample(strings.ReplaceAll(pattern, "{}", "x"))
			if _, known := KeyOf(key); known {
				continue
			}
			if !strings.HasSuffix(pattern, ".*") || !fitsAnyKey(pattern) {
				t.Errorf("%s: there are no facts like %s", r.Finding, pattern)
			}
		}
	}
}

func TestInvalidRulesAreRefusedWithTheirPosition(t *testing.T) {
	for text, says := range map[string]string{
		"rules: [{finding: a, facts: [x], class: odd, reason: b}]":                                                                       `unknown class "odd"`,
		"rules: [{finding: a, facts: [x], class: confound, reason: b, effect: c}]":                                                       "remove: is missing",
		"rules: [{finding: a, facts: [x], class: confound, reason: b, effect: c, remove: d, verdict: no}]":                               `unknown verdict "no"`,
		"rules: [{finding: a, facts: [x], class: chosen, reason: b}]":                                                                    "chosen_by: is missing",
		"rules: [{finding: a, class: inherent, reason: b}]":                                                                              "facts: is missing",
		"rules: [{finding: a, facts: [x], class: inherent, reason: b, compare: near}]":                                                   `unknown comparison "near"`,
		"rules: [{facts: [x], compare: ignore}]":                                                                                         "explain why",
		"rules: [{finding: a, facts: [x], class: inherent, reasn: b}]":                                                                   `did you mean "reason"?`,
		"rules: [{finding: a, facts: [x], class: inherent, reason: b, when: {traits: [guest]}}]\ntraits: [{trait: guests, kinds: [vm]}]": `did you mean "guests"?`,
		"rules: [{finding: a, facts: [x], class: inherent, reason: b, workloads: [disc]}]":                                               `did you mean "disk"?`,
	} {
		_, err := Load("own.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), "own.yaml:1:") {
			t.Errorf("%s:\n%v", text, err)
		}
	}
}

// fitsAnyKey says whether any kind of fact is of a pattern that leaves its end
// open.
func fitsAnyKey(pattern string) bool {
	for _, k := range Keys() {
		if fits(pattern, k.Name) || fits(pattern, strings.ReplaceAll(k.Name, "*", Argument(pattern))) {
			return true
		}
	}
	return false
}
