package stats

import (
	_ "embed"
	"encoding/json"
	"math"
	"slices"
)

// levels.json holds the calibrated levels with a note on how they were found.
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
	rows := make([]int, 0, len(f.Levels))
	for m := range f.Levels {
		rows = append(rows, m)
	}
	slices.Sort(rows)
	return f.Looks, rows, f.Levels
}

// Looks are the numbers of blocks at which the sequential procedure looks.
func Looks() []int { return slices.Clone(looks) }

// LastLook is the last look that lies at or before n blocks; 0 before the
// first.
func LastLook(n int) int {
	last := 0
	for _, l := range looks {
		if l <= n {
			last = l
		}
	}
	return last
}

// NextLook is the first look after n blocks; 0 when there is none left.
func NextLook(n int) int {
	for _, l := range looks {
		if l > n {
			return l
		}
	}
	return 0
}

// FirstLook is the first look at which an interval at that level has two ends:
// the earlier ones cannot bring a verdict. 0 means that none has.
func FirstLook(alpha float64) int {
	for _, n := range looks {
		if SignedRankK(n, alpha) > 0 {
			return n
		}
	}
	return 0
}

// Levels are the nominal two-sided levels of every look for a family of m
// contrasts: alpha for a difference, alphaEq for equivalence. An m between two
// rows of the table takes the stricter one; beyond the table the levels are
// Bonferroni's over ten looks.
func Levels(m int) (alpha, alphaEq float64) {
	for _, row := range levelRows {
		if row >= m {
			return levels[row].Alpha, levels[row].AlphaEq
		}
	}
	return .05 / float64(10*m), .10 / float64(10*m)
}

// calibratedAt is the error rate of a family that levels.json was made for.
const calibratedAt = .05

// FamilyFor carries the table to another simultaneous confidence than 95%. Row
// m holds each contrast's error at 5%/m, so an error of e over a family of m is
// row m·5%/e, rounded up to a whole row. A confidence below 95% is therefore
// met or exceeded; kept says what the row really keeps.
func FamilyFor(m int, confidence float64) (row int, kept float64) {
	row = max(1, int(math.Ceil(float64(m)*calibratedAt/(1-confidence)-1e-9)))
	return row, 1 - calibratedAt*float64(m)/float64(row)
}
