package study

import (
	"fmt"
	"slices"
	"time"

	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/internal/stats"
)

// Alternating is the order of a design in which the environments of a block give
// short samples in turn.
const Alternating = "alternating"

// DefaultMargin is the margin of a study that sets none: ratios within it are equivalent.
const DefaultMargin = quantity.Share(.02)

// DefaultConfidence is the confidence of a study that sets none.
const DefaultConfidence = quantity.Share(.95)

// DefaultPrecision is the precision of a study that sets none.
const DefaultPrecision = quantity.Share(.25)

// Frozen are instances that are stopped between their samples.
const Frozen = "frozen"

// firstRounds is how many samples an environment gives in each of the first blocks,
// from which the number of the others is chosen.
const firstRounds = 16

const (
	// FirstBlocks is how many blocks choose the number of rounds of the others.
	// docs/explanation/statistics.md compares it with more and fewer.
	FirstBlocks = 3
	// FirstRoundsWithin bounds the rounds of a cell in each of the first blocks, when
	// nobody knows how long its samples take: no round begins that is likely to end
	// after this time.
	FirstRoundsWithin = 10 * time.Second
)

// MostRounds is how many rounds a block has at most.
const MostRounds = 1000

// The values of the keys of a design.
var (
	orders   = []string{Alternating, "interleaved", "sequential"}
	waitings = []string{Frozen, "idle"}
	families = []string{"metric", "study"}
	drops    = []string{"decided", "never"}
	freshes  = []string{"trial", "block", "run"}
)

type designSection struct {
	Order      string               `yaml:"order"`
	Rounds     *numberOr[int, auto] `yaml:"rounds"`
	Waiting    string               `yaml:"waiting"`
	Blocks     blocksSection        `yaml:"blocks"`
	Margin     *quantity.Share      `yaml:"margin"`
	Confidence *quantity.Share      `yaml:"confidence"`
	Precision  *quantity.Share      `yaml:"precision"`
	Budget     time.Duration        `yaml:"budget"`
	Family     string               `yaml:"family"`
	Drop       string               `yaml:"drop"`
	Fresh      string               `yaml:"fresh"`
	Quiet      time.Duration        `yaml:"quiet"`
}

// designResolved is a design with the default of the workloads' fresh:.
type designResolved struct {
	Design
	fresh string
}

func (s *designSection) resolve(at strictyaml.Node) designResolved {
	if s == nil {
		s = &designSection{}
	}
	pick := func(key, value, otherwise string, known []string) string {
		if value == "" {
			return otherwise
		}
		oneOf(at.At(key), key, value, known)
		return value
	}
	d := designResolved{
		Design: Design{
			Order:      pick("order", s.Order, Alternating, orders),
			Margin:     DefaultMargin,
			Confidence: DefaultConfidence,
			Precision:  DefaultPrecision,
			Budget:     s.Budget,
			Family:     pick("family", s.Family, "metric", families),
			Drop:       pick("drop", s.Drop, "decided", drops),
			Quiet:      s.Quiet,
		},
	}
	d.fresh = pick("fresh", s.Fresh, s.alternate(at, &d.Design, pick), freshes)
	if s.Margin != nil {
		if d.Margin = *s.Margin; d.Margin <= 0 || d.Margin >= 1 {
			at.At("margin").Problemf("the margin must lie between 0%% and 100%%, such as 2%%")
		}
	}
	if s.Confidence != nil {
		if d.Confidence = *s.Confidence; d.Confidence < .5 || d.Confidence >= 1 {
			at.At("confidence").Problemf("confidence: must lie between 50%% and 100%%, such as 95%%")
		}
	}
	if s.Precision != nil {
		if d.Precision = *s.Precision; d.Precision < .01 || d.Precision > 1 {
			at.At("precision").Problemf("precision: must lie between 1%% and 100%% of the change, such as 25%%")
		}
	}
	d.Blocks = s.Blocks.resolve(at.At("blocks"))
	return d
}

// alternate resolves the keys of order alternating. It returns the default of
// fresh: instances that are kept for a block can give several samples.
func (s *designSection) alternate(at strictyaml.Node, d *Design, pick func(key, value, otherwise string, known []string) string) (fresh string) {
	if d.Order != Alternating {
		for key, given := range map[string]bool{"rounds": s.Rounds != nil, "waiting": s.Waiting != ""} {
			if given {
				at.At(key).ProblemAtKey("%s: needs order: alternating; in order %s an environment gives one sample per trial", key, d.Order)
			}
		}
		return "trial"
	}
	d.Rounds, d.RoundsChosen, d.Waiting = firstRounds, s.Rounds == nil || s.Rounds.word, pick("waiting", s.Waiting, Frozen, waitings)
	if !d.RoundsChosen {
		if d.Rounds = s.Rounds.number; d.Rounds < 1 || d.Rounds > MostRounds {
			at.At("rounds").Problemf("rounds: must be 1 to %d samples of each environment per block, or auto", MostRounds)
		}
	}
	return "block"
}

// numberOr is a number, or a word in its place.
type numberOr[N any, W fmt.Stringer] struct {
	word   bool
	number N
}

// DecodeNode reads a number or the word.
func (v *numberOr[N, W]) DecodeNode(n strictyaml.Node) {
	var word W
	if text, _ := n.Scalar(); text == word.String() {
		v.word = true
		return
	}
	n.Decode(&v.number)
}

// The words that stand in the place of numbers.
type (
	auto struct{}
	none struct{}
	off  struct{}
)

func (auto) String() string { return "auto" }
func (none) String() string { return "none" }
func (off) String() string  { return "off" }

// blocksSection is a number, or {min, max}, where max may be none.
type blocksSection struct {
	exact  *int
	bounds blockBounds
}

type blockBounds struct {
	Min *int                 `yaml:"min"`
	Max *numberOr[int, none] `yaml:"max"`
}

// DecodeNode reads a number or a mapping.
func (b *blocksSection) DecodeNode(n strictyaml.Node) {
	if n.IsMapping() {
		n.Decode(&b.bounds)
		return
	}
	b.exact = new(int)
	n.Decode(b.exact)
}

func (b blocksSection) resolve(at strictyaml.Node) Blocks {
	if b.exact != nil {
		if *b.exact < 1 {
			at.Problemf("blocks: must be at least 1")
		}
		return Blocks{Min: *b.exact, Max: *b.exact, Fixed: true}
	}
	const firstLook, lastLook = stats.LeastLook, stats.MostLook
	blocks := Blocks{Min: firstLook, Max: lastLook}
	if m := b.bounds.Max; m != nil && m.word {
		blocks.Max, blocks.Open = 0, true
	} else if m != nil {
		blocks.Max = m.number
	}
	if b.bounds.Min != nil {
		blocks.Min = *b.bounds.Min
	}
	switch {
	case blocks.Min < 1:
		at.At("min").Problemf("min: must be at least 1")
	case blocks.Open:
	case b.bounds.Min != nil && blocks.Min > blocks.Max:
		at.At("min").Problemf("min: is above max, %d", blocks.Max)
	case blocks.Max < firstLook:
		at.At("max").Problemf("max: the first interim analysis is at %d blocks; for fewer, set a fixed number, blocks: %d", firstLook, max(blocks.Max, 1))
	case blocks.Max > lastLook:
		at.At("max").Problemf("max: the last interim analysis is at %d blocks; set a fixed number, blocks: %d, or max: none", lastLook, blocks.Max)
	}
	return blocks
}

func oneOf(at strictyaml.Node, key, value string, known []string) {
	if !slices.Contains(known, value) {
		at.Problemf("%s: %s", key, strictyaml.Unknown("value", value, known))
	}
}
