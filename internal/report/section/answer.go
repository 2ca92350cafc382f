package section

import (
	"strings"

	"tare/internal/report/model"
)

// answer is what a reader decides by: a sentence for each environment, where the load came
// from, the largest part of a ladder, the next command, and the state of the machine.
func answer(v *model.Report, _ Options) Section {
	s := Section{ID: "answer", Title: "In short"}
	var lines []Cell
	say := func(about, text string) {
		if text != "" {
			lines = append(lines, Cell{{Text: about, Style: Strong}, {Text: ": " + text + "."}})
		}
	}
	for _, h := range v.Headlines() {
		texts := []string{h.Text}
		for _, more := range []string{h.Differs, h.Machines, h.Money, h.Undecided} {
			if more != "" {
				texts = append(texts, strings.ToUpper(more[:1])+more[1:])
			}
		}
		if h.Caution != "" {
			texts = append(texts, "Note: "+h.Caution)
		}
		say(h.Environment, strings.Join(texts, ". "))
	}
	say("load", v.Load())
	say("parts", v.LargestPart())
	if next, is := v.Next(); is {
		lines = append(lines, Cell{{Text: "next", Style: Strong}, {Text: ": "}, {Text: next.Command, Style: Code}, {Text: " (" + next.Does + ")"}})
	}
	say("machine", v.Health())
	if len(lines) > 0 {
		s.Parts = []Part{{Notes: lines}}
	}
	return s
}
