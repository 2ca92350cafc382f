package workload

import (
	"slices"

	"tare/internal/cost"
)

// Source says in a few words where the value of a metric comes from.
func (p Pack) Source(m Metric) string {
	field := m.FieldName()
	switch {
	case cost.Named(m.Name), m.Name == CPUSeconds:
		return "tare, outside the instance"
	case m.Name == StartAll, p.Startup:
		return "tare, the start"
	case slices.Contains(Measured, field):
		return "tare, by the instance's clock"
	case p.Parser.Name != "":
		return "parser " + p.Parser.Name + ", " + field
	case p.Parser.JSON:
		return "JSON, " + field
	case p.Parser.CSV:
		return "CSV, " + field
	}
	return "expression, " + field
}
