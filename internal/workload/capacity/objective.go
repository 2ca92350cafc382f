// Package capacity is the search for the highest rate of requests that holds an
// objective: what an objective is, what one probe at a rate shows, which rate is next, and
// what the probes say together.
//
// It must not know trials, environments or packs: values are arguments.
package capacity

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Bound is one part of an objective as it is written: p99 <= 50ms.
type Bound struct {
	Name    string // pNN, errors, or a metric
	AtLeast bool   // >=, else <=
	Value   string // 50ms, 0.1%, 100
}

func (b Bound) String() string {
	if b.AtLeast {
		return b.Name + " >= " + b.Value
	}
	return b.Name + " <= " + b.Value
}

var (
	bound = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9_.]*)\s*(<=|>=|≤|≥|<|>|==|=)\s*(\S.*)$`)
	share = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?)\s*%$`)
	rank  = regexp.MustCompile(`^p([0-9]{1,2}(?:\.[0-9]{1,3})?|100)$`)
)

// Example of an objective, for messages.
const Example = "p99 <= 50ms, errors <= 0.1%"

// ParseObjective reads the bounds of an objective, separated by commas.
func ParseObjective(text string) (bounds []Bound, err error) {
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		m := bound.FindStringSubmatch(part)
		if m == nil {
			return nil, fmt.Errorf("%q is not like p99 <= 50ms; write an objective like %s", part, Example)
		}
		b := Bound{Name: m[1], AtLeast: m[2] == ">=" || m[2] == "≥", Value: m[3]}
		if m[2] != ">=" && m[2] != "<=" && m[2] != "≤" && m[2] != "≥" {
			return nil, fmt.Errorf("%q: %s is not known; a bound is <= or >=", part, m[2])
		}
		for _, other := range bounds {
			if other.Name == b.Name && other.AtLeast == b.AtLeast {
				return nil, fmt.Errorf("%s has two bounds, %s and %s; write one of them", b.Name, other, b)
			}
		}
		bounds = append(bounds, b)
	}
	return bounds, nil
}

// Percentile is the number of a name such as p99 or p99.9.
func (b Bound) Percentile() (percent float64, is bool) {
	m := rank.FindStringSubmatch(b.Name)
	if m == nil {
		return 0, false
	}
	percent, err := strconv.ParseFloat(m[1], 64)
	return percent, err == nil
}

// timeUnits are the units of metrics that a duration is converted to.
var timeUnits = map[string]time.Duration{"s": time.Second, "ms": time.Millisecond, "us": time.Microsecond, "ns": time.Nanosecond}

// In returns the value in the unit of a metric: a duration where that is one of time, a
// number or a percentage where it is a share, and a number otherwise.
func (b Bound) In(unit string) (value float64, err error) {
	if per, is := timeUnits[unit]; is {
		d, err := time.ParseDuration(b.Value)
		if err != nil || d <= 0 {
			return 0, fmt.Errorf("%s: %q is not a time such as 50ms", b, b.Value)
		}
		return float64(d) / float64(per), nil
	}
	m := share.FindStringSubmatch(b.Value)
	switch {
	case m != nil && unit == "1":
		value, err = strconv.ParseFloat(m[1], 64)
		value /= 100
	case m != nil && unit == "%":
		value, err = strconv.ParseFloat(m[1], 64)
	case m != nil:
		return 0, fmt.Errorf("%s: a percentage is a share, and %s is in %s", b, b.Name, unit)
	default:
		value, err = strconv.ParseFloat(b.Value, 64)
	}
	switch {
	case err != nil && unit == "1":
		return 0, fmt.Errorf("%s: %q is not a share such as 0.1%%", b, b.Value)
	case err != nil || !(value >= 0) || value > 1e18:
		return 0, fmt.Errorf("%s: %q is not a number of %s", b, b.Value, unit)
	case unit == "1" && value > 1:
		return 0, fmt.Errorf("%s: %s is above 100%%", b, b.Value)
	}
	return value, nil
}
