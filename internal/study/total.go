package study

import (
	"maps"
	"strconv"
)

// resolveTotal reads the parameters whose value is that of all instances together: a rate
// that several clusters share.
func resolveTotal(pairs settings, w Workload) {
	at := pairs.at("total")
	if !at.Exists() {
		return
	}
	if pairs.at("find").Exists() || pairs.at("load").Exists() {
		at.Problemf("total: the rate of a search or of a load is that of each instance")
		return
	}
	var names []string
	at.Decode(&names)
	for i, name := range names {
		if p, known := w.Pack.Parameters[name]; !known || !p.Numeric() {
			at.At(i).Problemf("total: %q is not a number that workload %s has", name, w.Pack.Name)
			return
		}
		for j := range w.Levels {
			l := &w.Levels[j]
			if _, whole := shareOf(l.Parameters[name], l.Instances); !whole {
				at.At(i).Problemf("total: %s %s is not a multiple of %d instances, which share it", name, l.Parameters[name], l.Instances)
				return
			}
		}
	}
	for j := range w.Levels {
		w.Levels[j].Total = names
	}
}

// shareOf is the part of a total that each instance has.
func shareOf(total string, instances int) (share string, whole bool) {
	if instances <= 1 {
		return total, true
	}
	n, err := strconv.Atoi(total)
	return strconv.Itoa(n / instances), err == nil && n%instances == 0
}

// shared are the parameters of one of the level's instances.
func (l Level) shared(all map[string]string) map[string]string {
	if l.Instances <= 1 || len(l.Total) == 0 {
		return all
	}
	all = maps.Clone(all)
	for _, name := range l.Total {
		all[name], _ = shareOf(all[name], l.Instances)
	}
	return all
}
