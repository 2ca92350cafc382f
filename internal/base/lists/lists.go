// Package lists has what package slices lacks: a list made of another one, and a pointer to
// what was found.
package lists

// Map returns f of every value; nil for an empty list.
func Map[T, R any](list []T, f func(T) R) []R {
	var results []R
	for _, v := range list {
		results = append(results, f(v))
	}
	return results
}

// Filter returns the values for which keep is true; nil if there are none.
func Filter[T any](list []T, keep func(T) bool) []T {
	var kept []T
	for _, v := range list {
		if keep(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

// Find returns the first value that matches; nil if there is none.
func Find[T any](list []T, match func(*T) bool) *T {
	for i := range list {
		if match(&list[i]) {
			return &list[i]
		}
	}
	return nil
}
