package table

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/base/quantity"
)

// pooled says which columns without a role have the same several values in each environment,
// such as sizes or compressions: results of different work would pass for one sample. With
// blocks no two results of an environment stand for the same.
func (t *table) pooled(r *Records, used []int) string {
	if r.Blocks || t.made || len(r.All) != len(t.rows) {
		return ""
	}
	var all []string
	for i, column := range t.columns {
		if slices.Contains(used, i) {
			continue
		}
		// The values in each environment, of the results that are compared.
		values := map[[3]string]map[string]map[string]bool{}
		for row, one := range r.All {
			about := [3]string{one.Workload, one.Level, one.Metric}
			if values[about] == nil {
				values[about] = map[string]map[string]bool{}
			}
			if values[about][one.Environment] == nil {
				values[about][one.Environment] = map[string]bool{}
			}
			values[about][one.Environment][t.rows[row].cells[i]] = true
		}
		most := 0
		for _, each := range values {
			most = max(most, sameValues(each))
		}
		if most > 1 {
			all = append(all, fmt.Sprintf("%s (%s)", column, quantity.Counted(most, "value", "values")))
		}
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: the results of each environment have the same several values of %s, and are taken for samples of one thing: name a column that tells them apart by --workload, --level or --block", t.name, strings.Join(all, ", "))
}

// sameValues is how many values all environments have, if these are the same in each.
func sameValues(byEnvironment map[string]map[string]bool) (n int) {
	var first map[string]bool
	for _, values := range byEnvironment {
		if first == nil {
			first = values
		}
		if len(byEnvironment) < 2 || !maps.Equal(values, first) {
			return 0
		}
	}
	return len(first)
}
