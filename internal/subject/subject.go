// Package subject names what a value is about: an environment under a workload at a
// level, and a metric of it. Every package that keeps or looks up values uses these
// types, so that there is one order of the names. It must not know where values come
// from, nor what they mean.
package subject

// Place is a workload at a level, in whichever environment.
type Place struct{ Workload, Level string }

// In is the place in an environment.
func (p Place) In(environment string) Cell { return Cell{environment, p.Workload, p.Level} }

// Cell is a workload at a level in an environment.
type Cell struct{ Environment, Workload, Level string }

// Place is the cell without its environment.
func (c Cell) Place() Place { return Place{c.Workload, c.Level} }

// In is the same place in another environment.
func (c Cell) In(environment string) Cell { return c.Place().In(environment) }

// Of is a metric of the cell.
func (c Cell) Of(metric string) Figure { return Figure{c, metric} }

// Figure is a metric of a cell.
type Figure struct {
	Cell
	Metric string
}
