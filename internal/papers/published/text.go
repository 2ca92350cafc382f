package published

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/base/lists"
)

// Text writes a study with everything recomputed for a terminal. With
// claimsOnly the tables are left out.
func Text(w io.Writer, r Result, width int, claimsOnly bool) error {
	p := &page{width: width}
	p.head(r)
	if !claimsOnly {
		p.tables(r.Study)
	}
	p.claims(r)
	p.scored(r)
	p.arithmetic(r)
	if !claimsOnly {
		p.rest(r.Study)
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

// page gathers lines of a width.
type page struct {
	out   strings.Builder
	width int
}

func (p *page) line(text string) { p.out.WriteString(strings.TrimRight(text, " ") + "\n") }

func (p *page) heading(text string) {
	p.line("")
	p.paragraph("", text)
}

// paragraph wraps a text; every line is indented.
func (p *page) paragraph(indent, text string) {
	for _, line := range wrap(text, max(p.width-len(indent), 30)) {
		p.line(indent + line)
	}
}

// wrap breaks a text at spaces alone, so that a minus stays with its number;
// only words that are too long are cut.
func wrap(text string, width int) []string {
	lines := []string{""}
	for word := range strings.FieldsSeq(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case ansi.StringWidth(*last)+1+ansi.StringWidth(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
		if cut := strings.Split(ansi.Hardwrap(lines[len(lines)-1], width, true), "\n"); len(cut) > 1 {
			lines = append(lines[:len(lines)-1], cut...)
		}
	}
	return lines
}

func (p *page) head(r Result) {
	s := r.Source
	p.paragraph("", r.Study.Study+" · "+s.Title)
	about := strings.Join(s.Authors, ", ")
	if s.Year != 0 {
		about = joined(", ", about, fmt.Sprint(s.Year))
	}
	p.paragraph("", joined(", ", about, s.Kind, s.Publisher))
	if s.Description != "" {
		p.line("")
		p.paragraph("", s.Description)
	}
	p.line("")
	p.list(r.summary())
	p.heading("ENVIRONMENTS")
	var rows [][]string
	for _, e := range r.Environments {
		kind := e.Kind
		kind = cmp.Or(kind, "no environment kind of tare")
		if e.Inside != "" {
			kind += " inside " + e.Inside
		}
		kind = joined(", ", kind, Level(e.With).String())
		if e.ID == r.Baseline {
			kind += "; the study's baseline"
		}
		rows = append(rows, []string{e.Name, joined("; ", kind, e.About)})
	}
	p.list(rows)
}

// summary is the whole in a few lines.
func (r Result) summary() [][]string {
	rows := [][]string{{"claims", r.counts()}}
	if r.Scored != nil {
		all, differ := 0, 0
		for _, g := range r.Scored.Groups {
			for _, f := range g.Features {
				for _, c := range f.Scores {
					all++
					if c.Outcome == Fails {
						differ++
					}
				}
			}
		}
		rows = append(rows, []string{"scores", fmt.Sprintf("%d in all: %d do not follow from the printed values", all, differ)})
	}
	if len(r.Arithmetic) > 0 {
		rows = append(rows, []string{"values", r.derived()})
	}
	return rows
}

// derived counts the printed figures that follow from others.
func (r Result) derived() string {
	bad := lists.Filter(r.Arithmetic, func(f Finding) bool { return f.Outcome == Fails })
	return fmt.Sprintf("%d are printed twice or follow from others; %d disagree", len(r.Arithmetic), len(bad))
}

// list prints rows of a name and a text.
func (p *page) list(rows [][]string) {
	name := 0
	for _, row := range rows {
		name = max(name, min(ansi.StringWidth(row[0]), p.width/3))
	}
	for _, row := range rows {
		left, right := wrap(row[0], name), wrap(row[1], max(p.width-name-2, 30))
		for i := range max(len(left), len(right)) {
			p.line(padded(at(left, i), name) + "  " + at(right, i))
		}
	}
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

func padded(text string, width int) string {
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}

func joined(with string, parts ...string) string {
	return strings.Join(lists.Filter(parts, func(part string) bool { return part != "" }), with)
}

// claims lists the claims that do not hold first, with their figures, and those
// that hold last, in short.
func (p *page) claims(r Result) {
	p.heading("CLAIMS: " + r.counts())
	section := func(title string, member func(ClaimResult) bool) {
		for i, c := range lists.Filter(r.Claims, member) {
			if i == 0 {
				p.heading(title)
			}
			p.claim(c)
		}
	}
	is := func(o Outcome) func(ClaimResult) bool {
		return func(c ClaimResult) bool { return c.Outcome == o && c.Rescored == nil }
	}
	section("CLAIMS THAT DO NOT HOLD", is(Fails))
	section("CLAIMS WITH ANOTHER OUTCOME FOR THE RECOMPUTED SCORES", func(c ClaimResult) bool { return c.Rescored != nil })
	section("CLAIMS THAT HOLD WITHIN ROUNDING", is(WithinRounding))
	section("CLAIMS THAT CANNOT BE CHECKED", is(NotChecked))
	section("CLAIMS THAT HOLD", is(Holds))
}

// counts is the number of claims by outcome.
func (r Result) counts() string {
	text := fmt.Sprintf("%d in all: %d hold, %d within rounding, %d do not hold, %d cannot be checked",
		len(r.Claims), r.Count[Holds], r.Count[WithinRounding], r.Count[Fails], r.Count[NotChecked])
	if again := lists.Filter(r.Claims, func(c ClaimResult) bool { return c.Rescored != nil }); len(again) > 0 {
		text += fmt.Sprintf("; %d have another outcome with the recomputed scores", len(again))
	}
	return text
}

func (p *page) claim(c ClaimResult) {
	p.item(c.Place + ": " + c.Says)
	switch {
	case c.Rescored != nil:
		p.paragraph("    ", fmt.Sprintf("%s with the printed scores, %s with these:", c.Outcome, c.Rescored.Outcome))
		p.against(c.Rescored.Findings)
	case c.Outcome == Holds:
		p.recomputed(c.Findings)
		return
	}
	p.against(c.Findings)
	if c.Note != "" {
		p.paragraph("    ", "note: "+c.Note)
	}
}

// against shows the findings that do not hold exactly.
func (p *page) against(findings []Finding) {
	for _, f := range findings {
		if f.Outcome != Holds {
			p.finding(f)
		}
	}
}

// recomputed lists the figures of a claim that holds.
func (p *page) recomputed(findings []Finding) {
	var list []string
	for _, f := range findings {
		if f.Found != "" && f.Found != f.Claimed && !f.copied {
			list = append(list, f.Found)
		}
	}
	if len(list) > 0 {
		p.paragraph("    ", "recomputed: "+strings.Join(list, ", "))
	}
}

// item is a paragraph with a hanging mark.
func (p *page) item(text string) {
	mark := "- "
	for i, line := range wrap(text, max(p.width-len(mark), 30)) {
		if i > 0 {
			mark = strings.Repeat(" ", len(mark))
		}
		p.line(mark + line)
	}
}

func (p *page) finding(f Finding) {
	if f.Outcome == NotChecked {
		p.paragraph("    ", joined(": ", f.Where, f.Figures, f.Reason))
		return
	}
	p.paragraph("    ", joined(": ", f.Where, f.Figures))
	switch {
	case f.Found != "":
		source := "recomputed"
		if f.copied {
			source = "printed there"
		}
		text := fmt.Sprintf("claimed %s, %s %s: off by %s", f.Claimed, source, f.Found, f.Off)
		if f.Bounds != "" {
			text += fmt.Sprintf(" (%s for values that round to the printed ones)", f.Bounds)
		}
		p.paragraph("    ", text)
	case f.Off != "":
		p.paragraph("    ", joined(": ", "claimed "+f.Claimed, f.Off))
	}
}

func (p *page) arithmetic(r Result) {
	if len(r.Arithmetic) == 0 {
		return
	}
	p.heading("REPEATED AND DERIVED VALUES: " + r.derived())
	for _, f := range r.Arithmetic {
		if f.Outcome == Holds {
			continue
		}
		p.item(string(f.Outcome) + ": " + joined(": ", f.Where, f.Figures))
		text := fmt.Sprintf("printed %s, recomputed %s: off by %s", f.Claimed, f.Found, f.Off)
		switch {
		case f.Outcome == NotChecked:
			text = f.Reason
		case f.copied:
			text = "they are " + f.Off + " apart"
		}
		p.paragraph("    ", text)
	}
}

// rest is what the data does not hold, and remarks.
func (p *page) rest(s *Study) {
	if len(s.LeftOut) > 0 {
		p.heading("LEFT OUT")
		var rows [][]string
		for _, l := range s.LeftOut {
			why := l.Why
			why = cmp.Or(why, "a chart without printed values")
			rows = append(rows, []string{l.Place, l.Shows + ": " + why})
		}
		p.list(rows)
	}
	if len(s.Notes) > 0 {
		p.heading("NOTES")
		for _, n := range s.Notes {
			p.item(n)
		}
	}
}
