package model

import (
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/environment"
)

// Limits formats limits in words.
func Limits(l environment.Limits) string {
	var parts []string
	if l.CPUs > 0 {
		parts = append(parts, strconv.FormatFloat(l.CPUs, 'g', -1, 64)+map[bool]string{true: " CPU", false: " CPUs"}[l.CPUs == 1])
	}
	if l.Memory > 0 {
		parts = append(parts, Figure(float64(l.Memory), "B")+" of memory")
	}
	if l.PIDs > 0 {
		parts = append(parts, quantity.Counted(l.PIDs, "process", "processes"))
	}
	if len(l.Cores) > 0 {
		parts = append(parts, "cores "+lists.Ranges(l.Cores))
	}
	for _, r := range []struct {
		n          float64
		unit, what string
	}{
		{float64(l.IO.Read), "B/s", " read"}, {float64(l.IO.Write), "B/s", " written"},
		{float64(l.IO.ReadOps), "op/s", " reading"}, {float64(l.IO.WriteOps), "op/s", " writing"},
	} {
		if r.n > 0 {
			parts = append(parts, Figure(r.n, r.unit)+r.what)
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
