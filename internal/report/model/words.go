package model

import (
	"slices"
	"strings"
)

// LevelTitle names a workload at a level.
func LevelTitle(workload, level string) string {
	if level == "" {
		return workload
	}
	return workload + ", " + level
}

// MostFrequent is the text that was counted most.
func MostFrequent(counts map[string]int) string {
	best := ""
	for text, n := range counts {
		if n > counts[best] || n == counts[best] && text < best {
			best = text
		}
	}
	return best
}

// FileName is a name without what file systems, shells and LaTeX read.
func FileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' {
			return r
		}
		return '-'
	}, name)
	parts := slices.DeleteFunc(strings.Split(name, "-"), func(s string) bool { return strings.Trim(s, ".") == "" })
	name = strings.Join(parts, "-")
	return name[:min(len(name), 100)]
}
