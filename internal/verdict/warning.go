package verdict

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/stats"
)

// Warning is a caveat of a contrast: a code with the fields that its words need.
type Warning struct {
	Code   string
	Side   string // the environment that it is about
	Other  string // the one that Side follows, or is compared with
	Number int    // blocks or results, or comparisons of a family
	Second int    // results of Other
	// Imported: the results were, or samples of instances that waited idle.
	Imported, Idle bool
	Change         stats.Interval // of Side after Other, as a log ratio
	Bias           *LengthBias
	Nodes          *Nodes
	Against        []Node   // those on which the verdict does not hold
	Confounds      []string // their names
	Reason         Reason   // of codes that give a contrast up
	Told           string   // words that were written before
}

// The codes of warnings.
const (
	Sequential    = "sequential"     // not interleaved: drift looks like a difference
	OneInstance   = "one-instance"   // fresh: run: nothing known between instances
	FewBlocks     = "few-blocks"     // median and range only
	MissingBlocks = "missing-blocks" // trials without a value
	FewRounds     = "few-rounds"     // blocks in which the sides have few rounds in common
	LengthBiased  = "length-bias"    // by more than a quarter of the margin
	CarryOver     = "carry-over"     // it matters whose sample came before
	NodesDiffer   = "nodes-differ"   // more than blocks of one node do
	NotEachNode   = "not-each-node"  // the interval of a node excludes the verdict
	NodesApart    = "nodes-apart"    // blocks whose sides ran on different nodes
	Emulation     = "emulation"      // tcg
	NotPositive   = "not-positive"   // no ratio can be made
	Zero          = "zero"           // the same for a cost, which may legitimately be 0
	GivenUp       = "given-up"       // failed from the start, or skipped
	UnusedBlocks  = "unused-blocks"  // after the last analysis
	Earlier       = "earlier"        // by a version whose runs ended by another procedure
	Unlooked      = "unlooked"       // too few blocks for an analysis
	Unpaired      = "unpaired"       // imported: the results are unpaired
	FreshUnknown  = "fresh-unknown"  // imported: freshness of instances unknown
	FewResults    = "few-results"    // imported: fewer than at the first interim analysis
	Confound      = "confound"       // something other than the layer differs
)

// String is the warning in words.
func (w Warning) String() string {
	if w.Told != "" {
		return w.Told
	}
	switch w.Code {
	case Sequential:
		return "not interleaved: all trials of one environment run before those of the next, so that drift of the machine looks like a difference"
	case OneInstance:
		if w.Imported {
			return "one instance produced all results: the variation between instances was not measured"
		}
		return "one instance served all blocks: the variation between instances was not measured"
	case FewBlocks:
		return blocksOf(w.Number) + ": too few for an interval, so only median and range are given"
	case FewRounds:
		return blocksOf(w.Number) + " without a pair: fewer than half of the rounds have a value on both sides"
	case NodesApart:
		return blocksOf(w.Number) + " without a pair: the sides ran on different nodes"
	case MissingBlocks:
		return blocksOf(w.Number) + " without a pair: a trial gave no value"
	case Emulation:
		return w.Side + " ran under software emulation (tcg): this says nothing about virtual machines with hardware support"
	case UnusedBlocks:
		return "blocks were added after the last analysis, which had used all of the error: they are left out"
	case Earlier:
		return "an earlier version made this run, and its environments left with their first verdicts, at other analyses: the number of blocks depends on the result, and this interval misses more often than it says"
	case CarryOver:
		return w.carryOver()
	case LengthBiased:
		return w.lengthBias()
	case NodesDiffer:
		return w.nodesDiffer()
	case NotEachNode:
		return w.notEachNode()
	case Unpaired:
		if w.Imported {
			return "not interleaved, or not known to be: drift of the machine between the two samples looks like a difference, no error rate is known, and the interval describes these samples only"
		}
		return "without blocks, drift of the machine between the environments looks like a difference: the values describe these samples only, and no error rate is known"
	case FreshUnknown:
		return "unknown whether each result came from a fresh instance: if one instance produced all results, the variation between instances was not measured"
	case FewResults:
		return fmt.Sprintf("%d results of %s and %d of %s: few for an interval; the first interim analysis of the procedure is at %d", w.Number, w.Side, w.Second, w.Other, stats.LeastLook)
	case Confound:
		return fmt.Sprintf("something besides the layer differs from %s: %s", w.Other, strings.Join(w.Confounds, ", "))
	case NotPositive:
		if w.Reason.IsZero() {
			return "only positive values have ratios"
		}
	}
	return w.Reason.String()
}

func (w Warning) carryOver() string {
	text := fmt.Sprintf("samples of %s that follow one of %s differ from its others by %s", w.Side, w.Other, Change(w.Change.Estimate))
	if w.Change.Bounded() {
		text += " " + EndsText(w.Change.Estimate, w.Change.Low, w.Change.High) + " (95%)"
	}
	text += ": what a sample leaves behind is charged to the next one"
	if w.Idle {
		text += "; with `waiting: frozen` an instance does no work in the background while others are measured"
	}
	return text
}

func (w Warning) lengthBias() string {
	v := w.Bias.Interval
	return fmt.Sprintf("the length of the samples biases this by %s (95%%), more than a quarter of the margin: samples that are %.0f times as long would not",
		endsOf(v), math.Ceil(math.Abs(v.Estimate)/w.Bias.Limit))
}

// mostNamed is how many nodes a warning names.
const mostNamed = 5

func (w Warning) nodesDiffer() string {
	n := w.Nodes
	compare := func(a, b Node) int { return int(math.Copysign(1, a.Interval.Estimate-b.Interval.Estimate)) }
	least, most := slices.MinFunc(n.Each, compare), slices.MaxFunc(n.Each, compare)
	text := fmt.Sprintf("the change differs between nodes (p = %.2g), from %s on %s to %s on %s",
		n.P, Change(least.Interval.Estimate), least.Name, Change(most.Interval.Estimate), most.Name)
	if named := n.Named(); len(named) > 0 && len(named) <= mostNamed {
		text += "; different from the others: " + strings.Join(named, ", ")
	}
	text += "; the verdict is about these nodes, and "
	switch {
	case n.Mean.Bounded():
		return text + "on nodes like them the mean is " + endsOf(n.Mean)
	case len(n.Each) == 2:
		return text + "two do not show what it is on others"
	}
	return text + "they have too few blocks to show what it is on others"
}

func (w Warning) notEachNode() string {
	named := lists.Map(w.Against, func(n Node) string { return n.Name + " " + endsOf(n.Interval) })
	if len(named) > mostNamed {
		named = append(named[:mostNamed], fmt.Sprintf("and %d more", len(named)-mostNamed))
	}
	return "the verdict does not hold on each node: " + strings.Join(named, "; ")
}

func endsOf(v stats.Interval) string {
	return Change(v.Estimate) + " " + EndsText(v.Estimate, v.Low, v.High)
}

type writtenWarning struct {
	Code string `json:"code"`
	Text string `json:"text"`
}

// MarshalJSON writes the code and the words.
func (w Warning) MarshalJSON() ([]byte, error) {
	return json.Marshal(writtenWarning{w.Code, w.String()})
}

// UnmarshalJSON reads what MarshalJSON writes.
func (w *Warning) UnmarshalJSON(data []byte) error {
	var in writtenWarning
	err := json.Unmarshal(data, &in)
	*w = Warning{Code: in.Code, Told: in.Text}
	return err
}
