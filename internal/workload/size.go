package workload

import (
	"fmt"
	"regexp"
	"strconv"

	"tare/internal/quantity"
)

// apart is a size as some write it: 64 KiB.
var apart = regexp.MustCompile(`^([0-9.]+) +([A-Za-z]+)$`)

// size says whether the parameter is a size in bytes, and how many of them its
// unit is. A size may be written in any spelling; commands get a bare number in
// the parameter's unit, whichever that is, since tools read suffixes differently:
// to most 64KiB is 65536 bytes, to fio 64000.
func (p Parameter) size() (unit quantity.Bytes, is bool) {
	if unit, is = quantity.ByteUnit(p.Unit); !is || len(p.Values) > 0 {
		return 0, false
	}
	_, err := quantity.ParseBytes(p.Default)
	return unit, err == nil
}

// Normalize is a value as a plan keeps it, or what is wrong with it.
func (p Parameter) Normalize(value string) (string, error) {
	if _, is := p.size(); is {
		value = apart.ReplaceAllString(value, "$1$2")
	}
	return value, p.Check(value)
}

// Format is a value as commands get it.
func (p Parameter) Format(value string) string {
	unit, is := p.size()
	if !is || plainNumber.MatchString(value) {
		return value
	}
	bytes, err := quantity.ParseBytes(value)
	if err != nil {
		return value
	}
	return figure(float64(bytes) / float64(unit))
}

// Number is a value of a parameter that is a number, in its unit, whatever its
// range.
func (p Parameter) Number(value string) (float64, error) {
	if _, is := p.size(); is {
		if _, err := quantity.ParseBytes(value); err != nil {
			return 0, err
		}
	}
	number, err := strconv.ParseFloat(p.Format(value), 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", value)
	}
	return number, nil
}
