package prices

import (
	"fmt"
	"io"
	"math"
	"strings"

	"tare/internal/base/term"
	"tare/internal/report/model"
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
		text := signedPercent(p.Counting.Estimate)
		if p.Counting.bounded() {
			text += fmt.Sprintf(" [%s, %s]", signedPercent(*p.Counting.Low), signedPercent(*p.Counting.High))
		}
		prose("Counting changes that by %s; it is left out of all figures.", text)
	}
	for _, note := range p.Notes {
		prose("Note: %s.", strings.TrimSuffix(note, "."))
	}
}

func signedPercent(share float64) string { return fmt.Sprintf("%+.1f%%", 100*share) }

// notModelled is what counts times prices leave out.
const notModelled = "Not in the prediction: caches that the layer displaces, contention, queueing, memory bandwidth, the disk, and the network outside of the instance."

// TextOf writes predictions, and what was measured beside them.
func TextOf(w io.Writer, p Profile, all []Prediction, columns int) {
	if len(all) == 0 {
		return
	}
	fmt.Fprint(w, "\n", term.Prose("What each environment would add to one operation, by prediction: counts times prices.", columns))
	rows := [][]string{{"", "CPU", "95% interval", "time alone", "rate, CPU bound"}}
	for _, one := range all {
		rows = append(rows, []string{Environment{Name: one.Environment, Label: one.Label}.name(), one.MoreCPU.estimate(), one.MoreCPU.interval(), one.MoreTime.estimate(), "×" + model.Digits(one.Rate.Estimate)})
		for _, m := range p.Measured {
			if m.Environment == one.Environment {
				rows = append(rows, []string{"  measured", m.MoreCPU.estimate(), m.MoreCPU.interval(), "", "×" + model.Digits(m.Rate.Estimate)})
			}
		}
	}
	aligned(w, rows, columns)
	for _, one := range all {
		fmt.Fprint(w, "\n", term.Prose(one.sentence(p), columns))
	}
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
	}
	return strings.TrimSuffix(text, ".") + "."
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
