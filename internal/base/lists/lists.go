// Package lists has what package slices lacks: a list made of another one, a pointer to
// what was found, and numbers in short.
package lists

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

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

// Add appends those of some values that the list does not have.
func Add[T comparable](list []T, values ...T) []T {
	for _, v := range values {
		if !slices.Contains(list, v) {
			list = append(list, v)
		}
	}
	return list
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

// Ranges prints 7, 1, 2, 3 as "1-3, 7".
func Ranges(numbers []int) string {
	var parts []string
	numbers = slices.Compact(slices.Sorted(slices.Values(numbers)))
	for i, first := 0, 0; i < len(numbers); i++ {
		switch {
		case i+1 < len(numbers) && numbers[i+1] == numbers[i]+1:
			continue
		case first == i:
			parts = append(parts, strconv.Itoa(numbers[i]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", numbers[first], numbers[i]))
		}
		first = i + 1
	}
	return strings.Join(parts, ", ")
}
