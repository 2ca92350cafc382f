package published

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
)

// Number is a printed figure with its digits: 170.00 says more than 170.
type Number struct {
	text     string
	value    float64
	decimals int
	percent  bool
}

var numberForm = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?%?$`)

func parseNumber(text string) (Number, error) {
	if !numberForm.MatchString(text) {
		return Number{}, fmt.Errorf("expected a number as printed, such as 12, 0.025 or -19%%, found %q; decimals with a point, no separators of thousands", text)
	}
	digits, percent := strings.CutSuffix(text, "%")
	value, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return Number{}, err
	}
	_, decimals, _ := strings.Cut(digits, ".")
	return Number{text, value, len(decimals), percent}, nil
}

func (v Number) String() string { return v.text }

// Float is the printed number; 19% is 19.
func (v Number) Float() float64 { return v.value }

// half is half a unit of the last printed digit.
func (v Number) half() float64 {
	h := 0.5
	for range v.decimals {
		h /= 10
	}
	return h
}

// span is every figure that rounds to this one.
func (v Number) span() span { return span{v.value - v.half(), v.value, v.value + v.half()} }

// DecodeNode reads a figure as it is written.
func (v *Number) DecodeNode(n strictyaml.Node) {
	text, _ := n.Scalar()
	number, err := parseNumber(text)
	if err != nil {
		n.Problemf("%s", err)
		return
	}
	*v = number
}

// MarshalJSON keeps the printed digits.
func (v Number) MarshalJSON() ([]byte, error) {
	if v.percent || strings.HasPrefix(v.text, "+") {
		return json.Marshal(v.text)
	}
	return json.Marshal(json.Number(v.text))
}

// Cell is one cell of a table: a figure, perhaps with its standard deviation,
// or nothing.
type Cell struct {
	Value Number  `json:"value"`
	SD    *Number `json:"sd,omitempty"`
	Empty bool    `json:"-"`
}

// DecodeNode reads `12`, `12 ± 3` or `none`.
func (c *Cell) DecodeNode(n strictyaml.Node) {
	text, ok := n.Scalar()
	if !ok {
		n.Problemf("expected a value such as 12.5 or 12.5 ± 0.3, or none")
		return
	}
	if c.Empty = text == "none"; c.Empty {
		return
	}
	value, sd, both := strings.Cut(text, "±")
	var err error
	if c.Value, err = parseNumber(strings.TrimSpace(value)); err != nil {
		n.Problemf("%s", err)
		return
	}
	if both {
		deviation, err := parseNumber(strings.TrimSpace(sd))
		if err != nil {
			n.Problemf("standard deviation: %s", err)
			return
		}
		c.SD = &deviation
	}
}

// MarshalJSON is null for an empty cell.
func (c Cell) MarshalJSON() ([]byte, error) {
	if c.Empty {
		return []byte("null"), nil
	}
	type plain Cell
	return json.Marshal(plain(c))
}

func (c Cell) String() string {
	switch {
	case c.Empty:
		return "-"
	case c.SD != nil:
		return c.Value.text + " ± " + c.SD.text
	}
	return c.Value.text
}

// Level is the parameters of a row with their values as printed.
type Level map[string]string

func (l Level) String() string {
	return strings.Join(lists.Map(slices.Sorted(maps.Keys(l)), func(name string) string { return name + " " + l[name] }), ", ")
}

// DecodeNode reads an environment's name, or a mapping.
func (o *Operand) DecodeNode(n strictyaml.Node) {
	if text, ok := n.Scalar(); ok {
		o.Environment = text
		return
	}
	type plain Operand
	n.Decode((*plain)(o))
}

// Operands is one operand or a list.
type Operands []Operand

// DecodeNode reads one or a list.
func (o *Operands) DecodeNode(n strictyaml.Node) { *o = oneOrMore[Operand](n) }

// Checks is one check or a list.
type Checks []Check

// DecodeNode reads one or a list.
func (c *Checks) DecodeNode(n strictyaml.Node) { *c = oneOrMore[Check](n) }

// Counterparts is one counterpart or a list.
type Counterparts []Counterpart

// DecodeNode reads one or a list.
func (c *Counterparts) DecodeNode(n strictyaml.Node) { *c = oneOrMore[Counterpart](n) }

func oneOrMore[T any](n strictyaml.Node) []T {
	items := []strictyaml.Node{n}
	if n.IsSequence() {
		items = n.Items()
	}
	list := make([]T, len(items))
	for i, item := range items {
		item.Decode(&list[i])
	}
	return list
}
