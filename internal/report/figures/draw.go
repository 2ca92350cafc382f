package figures

import (
	"fmt"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/verdict"
)

// draw are all figures of a run, or those of a published study drawn from it.
func draw(v *model.Report) []*picture {
	if v.Figures != nil {
		return uniquely(lists.Map(v.Figures.Drawn(), func(f model.SourceFigure) *picture { return source(v, f, true) }))
	}
	all := matrix(v)
	for _, w := range v.Workloads {
		for _, m := range w.AllMetrics() {
			if !m.Primary {
				continue
			}
			if w.Swept() {
				all = append(all, levels(v, w, m))
			}
			all = append(all, ratios(v, w, m))
		}
	}
	for _, a := range v.MainAttributions() {
		all = append(all, ladder(v, a))
	}
	return uniquely(slices.DeleteFunc(all, func(p *picture) bool { return p == nil }))
}

// uniquely gives each figure a file's name of its own.
func uniquely(all []*picture) []*picture {
	taken := map[string]int{}
	for _, p := range all {
		p.name = model.FileName(p.name)
		if taken[p.name]++; taken[p.name] > 1 {
			p.name += fmt.Sprintf("-%d", taken[p.name])
		}
	}
	return all
}

// identity is how an environment looks in every figure.
type identity struct {
	shown  string
	colour colour
	symbol int
	dash   []float64
}

var (
	palette = []colour{0x54585d, 0x6d4fa3, 0x12857a, 0xb07b06, 0xb83b78, 0x4f7a28, 0x3a7ca8}
	dashes  = [][]float64{nil, {8, 1.5}, {4, 1.5}, {1.5, 1.5}, {6, 1.5, 1.5, 1.5}, {3, 3}, {1, 3}}
)

// identities have the baseline first, so that it has the neutral colour everywhere. The
// steps of a ladder have none.
func identities(v *model.Report) map[string]identity {
	all, n := map[string]identity{}, 1
	for _, e := range v.Environments {
		if e.Rung {
			continue
		}
		i := 0
		if !e.Baseline {
			i, n = (n-1)%(len(palette)-1)+1, n+1
		}
		all[e.Name] = identity{e.Shown, palette[i], i, dashes[i]}
	}
	return all
}

// appearance of a verdict: a tint and a sign, which is told from others without colour.
type appearance struct {
	tint, strong colour
}

var appearances = map[verdict.Verdict]appearance{
	verdict.Slower:       {0xf6dccd, 0xb3470f},
	verdict.Faster:       {0xd3e4f4, 0x0b62a8},
	verdict.Equivalent:   {0xdbeae1, 0x3f6b57},
	verdict.Inconclusive: {0xeeeeec, 0x6a6a70},
	verdict.None:         {white, 0x6a6a70},
}

func look(c *verdict.Contrast) appearance {
	if a, known := appearances[c.Verdict]; known {
		return a
	}
	return appearances[verdict.None]
}

func (p *picture) sign(of verdict.Verdict, at point) {
	a := appearances[of]
	switch of {
	case verdict.Slower:
		p.polygon(a.strong, symbolAt(4, at, 2.2)...)
	case verdict.Faster:
		p.polygon(a.strong, symbolAt(2, at, 2.2)...)
	case verdict.Equivalent:
		p.rect(a.strong, at.x-2.2, at.y-1.7, 4.4, 1.1)
		p.rect(a.strong, at.x-2.2, at.y+.6, 4.4, 1.1)
	case verdict.Inconclusive:
		p.outlined(white, a.strong, .8, symbolAt(0, at, 1.9)...)
	}
}

// confounded explains the mark of a comparison that a confound affects.
const confounded = model.Mark + " " + model.Confounded

type entry struct {
	text string
	draw func(at point) // nil for a text alone
}

// legend writes entries in lines from a place on, and returns how high it is.
func (p *picture) legend(x, y, width float64, entries []entry) float64 {
	const line, gap = 10.0, 8.0
	at, top := x, y
	for _, e := range entries {
		sign := 9.0
		if e.draw == nil {
			sign = 0
		}
		text := fit(e.text, width-sign)
		needs := sign + widthOf(text, textSize)
		if at > x && at+needs > x+width {
			at, y = x, y+line
		}
		if e.draw != nil {
			e.draw(point{at + 4, y + line/2})
		}
		p.say(ink, textSize, begins, at+sign, y+line/2+2.5, text)
		at += needs + gap
	}
	return y - top + line
}
