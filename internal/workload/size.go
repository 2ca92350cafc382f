package workload

import (
	"fmt"
	"regexp"
	"strconv"

	"tare/internal/base/quantity"
)

// spacedSize is a size with a space before its unit: 64 KiB.
var spacedSize = regexp.MustCompile(`^([0-9.]+) +([A-Za-z]+)$`)

// size reports whether the parameter is a size, and its unit in bytes. A size may
// have any unit in a study. Commands get a bare number in the parameter's unit,
// since tools parse suffixes differently: 64KiB is 65536 bytes to most, 64000 to
// fio.
func (p Parameter) size() (unit quantity.Bytes, is bool) {
	if unit, is = quantity.ByteUnit(p.Unit); !is || len(p.Values) > 0 {
		return 0, false
	}
	_, err := quantity.ParseBytes(p.Default)
	return unit, err == nil
}

// Normalize returns a value as it is stored in a plan, or an error if it is
// invalid.
func (p Parameter) Normalize(value string) (string, error) {
	if _, is := p.size(); is {
		value = spacedSize.ReplaceAllString(value, "$1$2")
	}
	return value, p.Check(value)
}

// Format returns a value as it is substituted into commands.
func (p Parameter) Format(value string) string {
	unit, is := p.size()
	if !is || plainNumber.MatchString(value) {
		return value
	}
	bytes, err := quantity.ParseBytes(value)
	if err != nil {
		return value
	}
	return formatNumber(float64(bytes) / float64(unit))
}

// Number returns a numeric value in the parameter's unit. It does not check the
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
