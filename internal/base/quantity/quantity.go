// Package quantity has byte sizes and shares: it parses them as users write them
// ("512MiB", "2%") and prints them in the same form. And it bounds what is a number, and
// counts things in words.
//
// It must not know studies or measurements.
package quantity

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Least and Most bound the sizes of measured numbers besides 0: ratios and sums of numbers
// between them are finite.
const (
	Least = 1 / Most
	Most  = 1e150
)

// Measured reports whether a number can be one that was measured.
func Measured(v float64) bool {
	size := math.Abs(v)
	return size == 0 || size >= Least && size <= Most // NaN is neither
}

// Bytes is a size. KiB, MiB, GiB and TiB are powers of 1024; kB, MB, GB and
// TB are powers of 1000. A letter alone (k, M, G, T) is the power of 1024, as
// most programs that take a size read it; a bare number is bytes.
type Bytes int64

// Common sizes.
const (
	KiB Bytes = 1 << 10
	MiB Bytes = 1 << 20
	GiB Bytes = 1 << 30
)

// Spellings describes the syntax of sizes, for messages and documentation.
const Spellings = "a number with B, kB, KiB, MB, MiB, GB, GiB, TB or TiB, such as 512MiB"

var byteUnits = []struct {
	suffix string
	factor float64
}{
	{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 1 << 40},
	{"kB", 1e3}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"B", 1},
	{"k", 1 << 10}, {"K", 1 << 10}, {"m", 1 << 20}, {"M", 1 << 20}, {"g", 1 << 30}, {"G", 1 << 30}, {"T", 1 << 40},
}

// ByteUnit returns the number of bytes of a unit, and whether it is a unit of sizes.
func ByteUnit(name string) (bytes Bytes, known bool) {
	for _, u := range byteUnits {
		if u.suffix == name && strings.HasSuffix(name, "B") {
			return Bytes(u.factor), true
		}
	}
	return 0, false
}

// ParseBytes parses a size such as "512MiB", "1.5GB" or "4096".
func ParseBytes(text string) (Bytes, error) {
	number, factor := strings.TrimSpace(text), 1.0
	for _, u := range byteUnits {
		if strings.HasSuffix(number, u.suffix) {
			number, factor = strings.TrimSpace(strings.TrimSuffix(number, u.suffix)), u.factor
			break
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || v < 0 || math.IsNaN(v) || v*factor > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q is not a size: write %s", text, Spellings)
	}
	return Bytes(math.Round(v * factor)), nil
}

// String prints the size in the largest binary unit in which it is at least one.
func (b Bytes) String() string {
	switch v := float64(b); {
	case b >= GiB:
		return trim(v/float64(GiB), 2) + "GiB"
	case b >= MiB:
		return trim(v/float64(MiB), 2) + "MiB"
	case b >= KiB:
		return trim(v/float64(KiB), 2) + "KiB"
	default:
		return strconv.FormatInt(int64(b), 10) + "B"
	}
}

// trim is a number with at most some decimals.
func trim(v float64, decimals int) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', decimals, 64), "0"), ".")
}

// UnmarshalText parses like ParseBytes.
func (b *Bytes) UnmarshalText(text []byte) (err error) {
	*b, err = ParseBytes(string(text))
	return err
}

// MarshalText prints the exact number of bytes, so that a run directory has the
// value of the study.
func (b Bytes) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatInt(int64(b), 10) + "B"), nil
}

// Share is a fraction of one: 0.02 is 2%.
type Share float64

// ParseShare parses "2%" or "0.02".
func ParseShare(text string) (Share, error) {
	number, factor := strings.TrimSpace(text), 1.0
	if strings.HasSuffix(number, "%") {
		number, factor = strings.TrimSpace(strings.TrimSuffix(number, "%")), 100
	}
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("%q is not a share: write a percentage such as 2%%, or a number such as 0.02", text)
	}
	return Share(v / factor), nil
}

// String prints the share as a percentage.
func (s Share) String() string { return trim(float64(s)*100, 4) + "%" }

// UnmarshalText parses like ParseShare.
func (s *Share) UnmarshalText(text []byte) (err error) {
	*s, err = ParseShare(string(text))
	return err
}

// MarshalText prints the shortest number that parses as the same share.
func (s Share) MarshalText() ([]byte, error) {
	return []byte(strconv.FormatFloat(float64(s), 'g', -1, 64)), nil
}

// Counted is a number with its noun: "1 block", "2 blocks".
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
