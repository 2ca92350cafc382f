// Package subject names what a value is about: an environment under a workload at a
// level, and a metric of it. Every package that keeps or looks up values uses these
// types, so that there is one order of the names. It must not know where values come
// from, nor what they mean.
package subject

import "strings"

// Place is a workload at a level, in whichever environment.
type Place struct{ Workload, Level string }

// In is the place in an environment.
func (p Place) In(environment string) Cell { return Cell{environment, p.Workload, p.Level} }

// Of is a metric of the place, in whichever environment.
func (p Place) Of(metric string) Figure { return p.In("").Of(metric) }

// String is the workload with its level, if it has one.
func (p Place) String() string { return strings.TrimSpace(p.Workload + " " + p.Level) }

// Cell is a workload at a level in an environment.
type Cell struct{ Environment, Workload, Level string }

// Place is the cell without its environment.
func (c Cell) Place() Place { return Place{c.Workload, c.Level} }

// In is the same place in another environment.
func (c Cell) In(environment string) Cell { return c.Place().In(environment) }

// Of is a metric of the cell.
func (c Cell) Of(metric string) Figure { return Figure{c, metric} }

// String is the place with its environment.
func (c Cell) String() string { return c.Place().String() + " in " + c.Environment }

// Figure is a metric of a cell.
type Figure struct {
	Cell
	Metric string
}

// In is the same metric of the same place in another environment; "" is whichever.
func (f Figure) In(environment string) Figure { return f.Cell.In(environment).Of(f.Metric) }
