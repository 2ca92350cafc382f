package environment

import "tare/internal/cleanup"

// Sweepers are those of all kinds, for cleanup.Sweep.
func Sweepers() (list []cleanup.Sweeper) {
	for _, kind := range Kinds() {
		if r := registry[kind]; r.Sweep != nil {
			list = append(list, r.Sweep)
		}
	}
	return list
}
