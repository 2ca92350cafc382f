package model

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare/internal/usage/cost"
)

var figure = regexp.MustCompile(`^([0-9]+(?:\.[0-9]*)?(?:e[+-]?[0-9]+)?)\s*(.*)$`)

// ParseFigure reads a figure as a person writes it and as Figure prints it, such as
// 5ms, 110k/s or 8 MiB, into a unit.
func ParseFigure(text, unit string) (float64, error) {
	parts := figure.FindStringSubmatch(text)
	spellings := spellingsOf(unit)
	if parts != nil {
		v, err := strconv.ParseFloat(parts[1], 64)
		suffix := strings.ReplaceAll(parts[2], " ", "")
		i := slices.IndexFunc(spellings, func(s step) bool { return s.prefix == suffix })
		if err == nil && i >= 0 {
			return v * spellings[i].size, nil
		}
	}
	return 0, fmt.Errorf("%q is not a figure in %s: write it as %s", text, unit, Figure(1.5, unit))
}

// spellingsOf are the suffixes that a figure in a unit may have, without spaces, and
// what each multiplies the number by.
func spellingsOf(unit string) (all []step) {
	what, per, hasPer := strings.Cut(unit, "/")
	tail := ""
	if hasPer {
		tail = "/" + per
	}
	if held, time, both := strings.Cut(what, "·"); both {
		what, tail = held, "·"+time+tail
	}
	scaled := func(units map[string]float64) {
		for name, f := range units {
			all = append(all, step{f / units[what], name + tail})
			if tail == cost.PerUnit {
				all = append(all, step{f / units[what], name})
			}
		}
	}
	_, priced := cost.Currency(unit)
	switch {
	case priced:
		return []step{{1, unit}}
	case timeUnits[what] > 0:
		scaled(timeUnits)
	case byteUnits[what] > 0:
		scaled(byteUnits)
	case unit == "%":
		return []step{{1, "%"}}
	default:
		if what == "1" {
			what = ""
		}
		for _, s := range decimal {
			all = append(all, step{s.size, s.prefix + what + tail}, step{s.size, s.prefix})
			if what != "bit" {
				all = append(all, step{s.size, s.prefix + tail})
			}
		}
	}
	return all
}
