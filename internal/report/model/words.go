package model

import (
	"slices"
	"strconv"
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

// BlockRanges prints 1, 2, 3, 7 as "1-3, 7".
func BlockRanges(blocks []int) string {
	var parts []string
	for i := 0; i < len(blocks); {
		j := i
		for j+1 < len(blocks) && blocks[j+1] == blocks[j]+1 {
			j++
		}
		if text := strconv.Itoa(blocks[i]); j == i {
			parts = append(parts, text)
		} else {
			parts = append(parts, text+"-"+strconv.Itoa(blocks[j]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}

// Counted is a number with its noun: "1 block", "2 blocks".
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
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
