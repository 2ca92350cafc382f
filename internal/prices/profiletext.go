package prices

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/term"
	"tare/internal/report/model"
	"tare/internal/verdict"
)

// Text writes the profile as a table.
func (p Profile) Text(w io.Writer, columns int) {
	prose := func(format string, values ...any) { fmt.Fprint(w, term.Prose(fmt.Sprintf(format, values...), columns)) }
	prose("What one operation (%s) of %s asks of the kernel in %s.", p.Operation, p.Workload, p.Baseline)
	rows := [][]string{{"", "count", "bytes each"}}
	for _, item := range p.Items {
		bytes := ""
		if item.Bytes != nil {
			bytes = model.Figure(*item.Bytes, "B")
		}
		rows = append(rows, []string{item.name(), model.Digits(item.Count), bytes})
	}
	aligned(w, rows, columns)
	fmt.Fprintln(w)
	prose("CPU time of one operation: %s, of which %s in user mode.", model.Figure(p.CPU.Estimate, nano), model.Figure(p.User.Estimate, nano))
	if p.Counting != nil {
		prose("Counting changes that by %s; it is left out of all figures.", p.Counting.change())
	}
	for _, note := range p.Notes {
		prose("Note: %s.", strings.TrimSuffix(note, "."))
	}
}

// change writes a share more or less as all changes are.
func (a Amount) change() string {
	if !a.bounded() {
		return verdict.Change(math.Log1p(a.Estimate))
	}
	estimate := math.Log1p(a.Estimate)
	return verdict.Change(estimate) + " " + verdict.EndsText(estimate, math.Log1p(*a.Low), math.Log1p(*a.High))
}

// notModelled is what counts times prices leave out.
const notModelled = "Not in the prediction: caches that the layer displaces, contention, queueing, memory bandwidth, the disk, and the network beyond the machine."

// TextOf writes predictions, and what was measured beside them.
func TextOf(w io.Writer, p Profile, all []Prediction, columns int) {
	if len(all) == 0 {
		return
	}
	fmt.Fprint(w, "\n", term.Prose("What each environment would add to one operation, by prediction: counts times prices.", columns))
	rows := [][]string{{"", "CPU", "95% interval", "time alone", "rate, CPU bound"}}
	shown := lists.Filter(all, func(one Prediction) bool { return one.stands(p, all) })
	for _, one := range shown {
		rows = append(rows, []string{Environment{Name: one.Environment, Label: one.Label}.name(), one.MoreCPU.estimate(), one.MoreCPU.interval(), one.MoreTime.estimate(), "×" + model.Digits(one.Rate.Estimate)})
		for _, m := range p.Measured {
			if its := predictionFor(all, m); its != nil && its.Environment == one.Environment {
				rows = append(rows, []string{"  measured", m.MoreCPU.estimate(), m.MoreCPU.interval(), "", "×" + model.Digits(m.Rate.Estimate)})
			}
		}
	}
	aligned(w, rows, columns)
	loadText(w, p, shown, columns)
	for _, one := range shown {
		fmt.Fprint(w, "\n", term.Prose(one.sentence(p), columns))
	}
}

// loadText writes the latencies at the load of a profile.
func loadText(w io.Writer, p Profile, all []Prediction, columns int) {
	if p.Load == nil {
		return
	}
	fmt.Fprint(w, "\n", term.Prose(fmt.Sprintf("At %s requests per second on %s cores, by prediction: the mean grows by as long as a request stays longer in a queue with random arrivals, and the distribution is stretched with it.",
		model.Digits(p.Load.Rate), model.Digits(p.Load.Cores)), columns))
	rows := [][]string{{"", "use of the cores"}}
	native := []string{p.Baseline, ""}
	for _, l := range p.Load.Latencies {
		rows[0], native = append(rows[0], l.Metric), append(native, l.text())
	}
	if len(all) > 0 && all[0].Load != nil {
		native[1] = model.Percent(all[0].Load.NativeUse)
	}
	rows = append(rows, native)
	row := func(name, use string, latencies []Latency) {
		cells := []string{name, use}
		for _, l := range p.Load.Latencies {
			text := "-"
			if at := slices.IndexFunc(latencies, func(m Latency) bool { return m.Metric == l.Metric }); at >= 0 {
				text = latencies[at].text()
			}
			cells = append(cells, text)
		}
		rows = append(rows, cells)
	}
	for _, one := range all {
		if one.Load == nil {
			continue
		}
		use := model.Percent(one.Load.Use.Estimate)
		if one.Load.Stretch == nil {
			use += ", not held"
		}
		row(Environment{Name: one.Environment, Label: one.Label}.name(), use, one.Load.Latencies)
		for _, m := range p.Measured {
			if its := predictionFor(all, m); its != nil && its.Environment == one.Environment {
				row("  measured", "", m.Latencies)
			}
		}
	}
	aligned(w, rows, columns)
}

func (l Latency) text() string {
	s := model.ScaleFor(l.Value.Estimate, l.Unit)
	text := model.In(s, l.Value.Estimate)
	if l.Value.bounded() {
		text += fmt.Sprintf(" [%s, %s]", model.In(s, *l.Value.Low), model.In(s, *l.Value.High))
	}
	return text + s.Suffix
}

// stands says whether a prediction is shown by itself: not that of other options, which is a
// change of the environment without them, unless it was measured.
func (one Prediction) stands(p Profile, all []Prediction) bool {
	usual := func(other Prediction) bool { return other.Kind == one.Kind && other.Options == "" }
	return one.Options == "" || !slices.ContainsFunc(all, usual) || slices.ContainsFunc(p.Measured, func(m Measured) bool {
		measured := predictionFor(all, m)
		return measured != nil && measured.Environment == one.Environment
	})
}

// most items of a sentence.
const most = 4

// sentence says what the prediction is made of.
func (one Prediction) sentence(p Profile) string {
	name := Environment{Name: one.Environment, Label: one.Label}.name()
	total := 0.
	for _, s := range one.Items {
		total += max(s.CPU, 0)
	}
	var parts []string
	for _, s := range one.Items {
		if share := s.CPU / total; share >= .05 && len(parts) < most {
			parts = append(parts, fmt.Sprintf("%s %s", model.Percent(share), p.inWords(s)))
		}
	}
	text := fmt.Sprintf("%s: nothing in the profile costs more there", name)
	if len(parts) > 0 {
		text = fmt.Sprintf("%s: of what it would add, %s", name, strings.Join(parts, ", "))
	}
	if len(one.Unpriced) > 0 {
		text += "; without a price: " + strings.Join(one.Unpriced, ", ")
	}
	text += "."
	for n, c := range one.Changes {
		if n == 0 {
			text += " What would change it, by prediction:"
		} else {
			text += ";"
		}
		text += fmt.Sprintf(" %s would save %s", c.What, model.Figure(c.Saves, nano))
		if saved, measured := p.saved(one, c); measured {
			text += fmt.Sprintf(" (measured: %s)", model.Figure(saved, nano))
		}
	}
	return strings.TrimSuffix(text, ".") + "."
}

// saved is what a change of options saved, where both environments were measured.
func (p Profile) saved(one Prediction, c Change) (nanoseconds float64, measured bool) {
	of := func(options string) *Measured {
		at := slices.IndexFunc(p.Measured, func(m Measured) bool { return m.Kind == one.Kind && m.Options == options })
		if at < 0 {
			return nil
		}
		return &p.Measured[at]
	}
	now, then := of(one.Options), of(c.options)
	if c.Environment == "" || now == nil || then == nil {
		return 0, false
	}
	return now.MoreCPU.Estimate - then.MoreCPU.Estimate, true
}

// inWords is the item with how many there are, and what one costs.
func (p Profile) inWords(s Share) string {
	for _, item := range p.Items {
		if item.Name == s.Name && item.Count > 0 {
			return fmt.Sprintf("%s (%s at %s)", item.name(), model.Digits(item.Count), model.Figure(s.CPU/item.Count, nano))
		}
	}
	return fmt.Sprintf("%s (%s)", s.Name, model.Figure(math.Abs(s.CPU), nano))
}

func (i Item) name() string {
	if len(i.Mostly) == 0 {
		return i.Name
	}
	return i.Name + ", mostly " + strings.Join(i.Mostly, " and ")
}
