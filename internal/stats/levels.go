package stats

import (
	_ "embed"
	"encoding/json"
	"maps"
	"math"
	"slices"
)

// levels.json holds the interim analyses and the levels that are calibrated for
// them, with a note on how these were found by simulation. No other file repeats
// the numbers of blocks.
//
//go:embed levels.json
var levelsFile []byte

type level struct {
	Alpha   float64 `json:"alpha"`
	AlphaEq float64 `json:"alpha_eq"`
}

var looks, levelRows, levels = readLevels()

func readLevels() ([]int, []int, map[int]level) {
	var f struct {
		Looks  []int         `json:"looks"`
		Levels map[int]level `json:"levels"`
	}
	if err := json.Unmarshal(levelsFile, &f); err != nil {
		panic("levels.json, embedded: " + err.Error())
	}
	rows := slices.Sorted(maps.Keys(f.Levels))
	return f.Looks, rows, f.Levels
}

// Looks are the numbers of blocks at which the sequential procedure has an interim
// analysis ("look" in the literature on group-sequential tests).
func Looks() []int { return slices.Clone(looks) }

// LastLook is the last interim analysis at or before n blocks; 0 before the first.
func LastLook(n int) int {
	last := 0
	for _, l := range looks {
		if l <= n {
			last = l
		}
	}
	return last
}

// NextLook is the first interim analysis after n blocks; 0 where none is left.
func NextLook(n int) int {
	for _, l := range looks {
		if l > n {
			return l
		}
	}
	return 0
}

// Levels are the nominal two-sided levels of every interim analysis for a family
// of m contrasts: alpha for a difference, alphaEq for equivalence. An m between
// two rows of the table takes the stricter one. Beyond the table the levels are
// those of Bonferroni over the analyses.
func Levels(m int) (alpha, alphaEq float64) {
	for _, row := range levelRows {
		if row >= m {
			return levels[row].Alpha, levels[row].AlphaEq
		}
	}
	each := calibratedAt / float64(len(looks)*m)
	return each, 2 * each
}

// calibratedAt is the family-wise error rate of levels.json.
const calibratedAt = .05

// FamilyFor finds the row of the table for a simultaneous confidence other than
// 95%. Row m holds the error of each contrast at 5%/m, so an error of e over a
// family of m is row m·5%/e, rounded up. The confidence is therefore met or
// exceeded; kept is the confidence of that row.
func FamilyFor(m int, confidence float64) (row int, kept float64) {
	row = max(1, int(math.Ceil(float64(m)*calibratedAt/(1-confidence)-1e-9)))
	return row, 1 - calibratedAt*float64(m)/float64(row)
}
