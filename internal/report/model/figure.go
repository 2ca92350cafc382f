package model

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"tare/internal/usage/cost"
)

// Percent formats a share without decimals.
func Percent(share float64) string {
	if math.IsNaN(share) {
		return Missing
	}
	return fmt.Sprintf("%.0f%%", 100*share)
}

// Missing is printed in place of a value that is missing; the reason follows it.
const Missing = "n/a"

// Scale turns figures of one unit into numbers that are easy to read: a figure
// times Factor, followed by Suffix ("k/s", " ms", " MiB").
type Scale struct {
	Factor float64 `json:"factor"`
	Suffix string  `json:"suffix"`
}

type step struct {
	size   float64
	prefix string
}

var (
	decimal = []step{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}, {1, ""}}
	binary  = []step{{1 << 40, "TiB"}, {1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}}
	// operations are the multiples of a thousand operations that money is quoted
	// for, so that amounts are not millionths of a cent.
	operations = []step{{1, "thousand"}, {1e-3, "million"}, {1e-6, "billion"}, {1e-9, "trillion"}}
	seconds    = []step{{1, "s"}, {1e-3, "ms"}, {1e-6, "µs"}, {1e-9, "ns"}}

	timeUnits = map[string]float64{"s": 1, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
	byteUnits = map[string]float64{
		"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40,
		"kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	}
)

// ScaleFor chooses the scale by which v, a figure in unit, has one to three
// digits before the point. Money keeps its unit, and is for as many operations as
// make an amount that people pay.
func ScaleFor(v float64, unit string) Scale {
	if currency, priced := cost.Currency(unit); priced {
		s := pick(v*10, operations) // from a tenth of the currency on
		return Scale{1 / s.size, " " + currency + " per " + s.prefix}
	}
	what, per, hasPer := strings.Cut(unit, "/")
	tail := ""
	if hasPer {
		tail = "/" + per
	}
	// What is held for a time: B·s.
	if held, time, both := strings.Cut(what, "·"); both {
		what, tail = held, "·"+time+tail
	}
	if f, ok := timeUnits[what]; ok {
		s := pick(v*f, seconds)
		return Scale{f / s.size, " " + s.prefix + tail}
	}
	if f, ok := byteUnits[what]; ok {
		s := pick(v*f, binary)
		return Scale{f / s.size, " " + s.prefix + tail}
	}
	if unit == "%" {
		return Scale{1, "%"}
	}
	s := pick(v, decimal)
	if what == "" || what == "1" {
		return Scale{1 / s.size, s.prefix + tail}
	}
	return Scale{1 / s.size, s.prefix + " " + what + tail}
}

// pick is the largest step that v reaches; the smallest where it reaches none.
func pick(v float64, steps []step) step {
	for _, s := range steps {
		// 999.6 prints as 1000: it belongs to the next step already.
		if math.Abs(v) >= s.size*.9995 {
			return s
		}
	}
	if v == 0 {
		for _, s := range steps {
			if s.size == 1 {
				return s
			}
		}
	}
	return steps[len(steps)-1]
}

// Figure prints v with its unit: 12.3k/s, 1.20 ms.
func Figure(v float64, unit string) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Missing
	}
	s := ScaleFor(v, unit)
	return In(s, v) + s.Suffix
}

// In prints v in a scale, without its unit.
func In(s Scale, v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Missing
	}
	return Digits(v * s.Factor)
}

// ShortFigure prints v as figure does, without the noun of a rate: where a heading
// has said "requests/s" already, 12.3k/s is enough.
func ShortFigure(v float64, unit string) string { return Figure(v, ShortUnit(unit)) }

// ShortUnit is a rate's unit without its noun, and a cost's without the
// operations; other units stay as they are.
func ShortUnit(unit string) string {
	if _, priced := cost.Currency(unit); priced {
		return unit // how many operations it is for depends on the amount
	}
	if of, perOperation := strings.CutSuffix(unit, cost.PerUnit); perOperation {
		return of
	}
	what, _, rate := strings.Cut(unit, "/")
	_, time := timeUnits[what]
	_, bytes := byteUnits[what]
	if !rate || time || bytes || what == "bit" {
		return unit
	}
	return strings.TrimPrefix(unit, what)
}

// Digits prints three significant digits, and more where the whole part has
// more.
func Digits(v float64) string {
	if v == 0 {
		return "0"
	}
	// 999.7 of the step below is 0.9997 here, and prints as 1.00.
	places := 2 - int(math.Floor(math.Log10(math.Abs(v)*1.0005)))
	switch {
	case places < 0:
		places = 0
	case places > 6:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(v, 'f', places, 64)
}
