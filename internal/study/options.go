package study

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/environment"
)

// OptionWords returns an environment's options as text, nested ones as
// outer.inner, and the kind's defaults in the same form. The system of the machine that
// it is inside is among them, as system.suite.
func (e Environment) OptionWords() (set, usual map[string]string) {
	set, usual = map[string]string{}, map[string]string{}
	var all, defaults map[string]any
	if json.Unmarshal(e.Options, &all) != nil {
		return set, usual
	}
	if registration, known := environment.Lookup(e.Kind); known {
		if encoded, err := json.Marshal(registration.Options()); err == nil {
			_ = json.Unmarshal(encoded, &defaults)
		}
	}
	if e.Inside != nil {
		for key, value := range e.Inside.System.Words() {
			set["system."+key] = value
		}
	}
	for words, options := range map[*map[string]string]map[string]any{&set: all, &usual: defaults} {
		for key, value := range flatten("", options) {
			(*words)[key] = optionValue(key, value)
		}
	}
	return set, usual
}

// UnusualOptions are the options that differ from the kind's defaults, as
// key=value.
func (e Environment) UnusualOptions() string {
	set, usual := e.OptionWords()
	var words []string
	for _, key := range slices.Sorted(maps.Keys(set)) {
		if set[key] != usual[key] {
			words = append(words, key+"="+set[key])
		}
	}
	return strings.Join(words, " ")
}

// flatten names nested options outer.inner.
func flatten(before string, options map[string]any) map[string]any {
	flat := map[string]any{}
	for key, value := range options {
		if inner, nested := value.(map[string]any); nested {
			maps.Copy(flat, flatten(before+key+".", inner))
		} else {
			flat[before+key] = value
		}
	}
	return flat
}

func optionValue(key string, value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []any:
		return strings.Join(lists.Map(v, func(one any) string { return optionValue(key, one) }), ",")
	case float64:
		if strings.HasSuffix(key, "timeout") {
			return time.Duration(v).String()
		}
	case string:
		// A plan has a size in bytes, to be exact.
		if size, err := quantity.ParseBytes(v); err == nil && strings.HasSuffix(v, "B") {
			return size.String()
		}
	}
	return fmt.Sprint(value)
}
