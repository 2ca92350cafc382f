package model

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"tare/internal/attribution/analysis"
	"tare/internal/base/lists"
	"tare/internal/environment"
)

// Answer is what a reader decides by. What it does not have is left out.
type Answer struct {
	Layers []Layer
	Load   string   // where the load of servers comes from
	Health string   // the state of the machine
	Parts  []string // the largest part of each ladder that was run
	Why    Step     // what measures the parts that are not known
	Terms  []Term
	Next   Step
	Repeat Step
}

// Answer of the run. What its sentences share is gathered once.
func (v *Report) Answer() Answer {
	d := v.decision()
	a := Answer{Layers: d.layers(), Load: v.load(), Health: d.health(), Parts: v.parts(), Why: d.why(), Next: d.next(), Repeat: v.repeat()}
	a.Terms = d.terms()
	return a
}

// parts say which part of a layer costs most, where a ladder was run: in this run, or in
// another one of the same machine.
func (v *Report) parts() []string {
	if own := v.LargestPart(); own != "" {
		return []string{own}
	}
	return lists.Map(v.Explained, func(e Explained) string { return e.Says + " (run " + e.Run + ")" })
}

// LargestPart is the material part of a ladder that changes a primary metric most; "" where
// no part is, or there is no ladder.
func (v *Report) LargestPart() string {
	for _, a := range v.MainAttributions() {
		var largest *analysis.Share
		for i := range a.Parts {
			if s := &a.Parts[i]; s.Material && !s.Rest() && (largest == nil || math.Abs(s.Contrast.Estimate) > math.Abs(largest.Contrast.Estimate)) {
				largest = s
			}
		}
		if largest == nil {
			continue
		}
		text := fmt.Sprintf("largest part of the way from %s to %s, in %s, %s: %s, %s", v.ShownName(a.From), v.ShownName(a.To), LevelTitle(a.Workload, a.Level), a.Title(), largest.Name, changed(&largest.Contrast)+", "+BlockCount(&largest.Contrast))
		if largest.Of != nil {
			text += ", " + analysis.Percent(*largest.Of) + " of the whole"
		}
		return text
	}
	return ""
}

// noisyFrom is from how much the speed of the machine varies that it counts as noisy, loudFrom
// that sizes mean little, and stolenFrom from which share of a core that a hypervisor takes.
const noisyFrom, loudFrom, stolenFrom = .1, .5, .01

// varied is by how much the speed of the machine varied, over so many blocks.
func (v *Report) varied() (share float64, blocks int) {
	canaries := map[int]float64{}
	for _, t := range v.Trials {
		if t.Pressure != nil && t.Pressure.CanarySeconds != nil && *t.Pressure.CanarySeconds > 0 {
			canaries[t.Block] = *t.Pressure.CanarySeconds
		}
	}
	if len(canaries) < 2 {
		return 0, len(canaries)
	}
	speeds := slices.Sorted(maps.Values(canaries))
	return speeds[len(speeds)-1]/speeds[0] - 1, len(canaries)
}

// health is the state of the machine during the run in one line; "" for an import.
func (d *decision) health() string {
	if d.Manifest.Import != nil {
		return ""
	}
	word := ""
	var parts []string
	if d.blocks > 1 {
		if word = "calm: "; d.varied >= noisyFrom {
			word = "noisy (the intervals have it in them): "
		}
		parts = append(parts, "its speed varied by "+Percent(d.varied))
	}
	if stolen := lists.Map(d.Stolen, func(s Stolen) float64 { return s.Share }); len(stolen) > 0 && slices.Max(stolen) >= stolenFrom {
		word = "noisy (the intervals have it in them): "
		parts = append(parts, "the hypervisor took up to "+Percent(slices.Max(stolen))+" of a core")
	}
	for _, f := range d.Manifest.Noise {
		if f.Reason != "" && f.State != environment.Usable {
			parts = append(parts, f.Reason)
		}
	}
	if len(parts) == 0 {
		parts = []string{"no source of noise was found before the run"}
	}
	return word + strings.Join(parts, "; ")
}
