package html

import (
	"strings"

	"tare/internal/base/lists"
	"tare/internal/parity"
	"tare/internal/report/model"
)

// fold is a list of causes that a reader opens.
type fold struct {
	Title  string
	Causes []parity.Cause
}

func folded(title string, causes []parity.Cause) fold { return fold{title, causes} }

// Names of the causes, to know what is inside before it is opened.
func (f fold) Names() string {
	return strings.Join(lists.Map(f.Causes, func(c parity.Cause) string { return c.Finding.Finding }), ", ")
}

// factRow is one fact with the values of both sides.
type factRow struct{ Fact, Base, Other string }

// factRows are the facts of a cause.
type factRows struct{ Facts []factRow }

func factsOf(c parity.Cause) (rows factRows) {
	for _, d := range c.Differences {
		base, other := model.FactSides(d)
		rows.Facts = append(rows.Facts, factRow{d.Fact, base, other})
	}
	return rows
}
