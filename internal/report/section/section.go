// Package section builds the sections of a report, each once, and renders none: each
// format has one renderer of them. A new section is a function here and a line in sections.
//
// It must not decide anything, as package model does not, and must not know how a format
// marks a text up.
package section

import (
	"slices"
	"strconv"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/report/model"
)

// Section is a part of a report with a title of its own.
type Section struct {
	ID    string // the anchor
	Title string
	Nav   string // shorter, for a list of the sections; "" for the title
	Lead  string
	Parts []Part
	Place Place
	Paper string // the name of its table in a paper
}

// Place is where a report has a section: first of all; or, in a page, before the verdicts,
// beside them, or below the details of the workloads.
type Place string

// The places.
const (
	First  Place = "first"
	Before Place = "before"
	Beside Place = "beside"
	Below  Place = "below"
)

// Excerpt is a report of some sections alone.
type Excerpt string

// The excerpts.
const (
	All     Excerpt = ""
	Why     Excerpt = "why"     // where the difference comes from
	Score   Excerpt = "score"   // the score sheet
	Columns Excerpt = "columns" // what a short table is without
	Paper   Excerpt = "paper"   // the tables of a paper
	Claims  Excerpt = "claims"  // a published study measured again
)

// sections are all of them in their order, with the excerpts that have them. One without
// parts is left out.
var sections = []struct {
	build func(*model.Report, Options) Section
	place Place
	in    []Excerpt
}{
	{answer, First, []Excerpt{Why, Columns}},
	{claims, Before, []Excerpt{Claims}},
	{attribution, Before, []Excerpt{Why, Paper}},
	{parities, Beside, []Excerpt{Why}},
	{kernel, Beside, []Excerpt{Why}},
	{scores, Beside, []Excerpt{Score}},
	{against, Beside, []Excerpt{Claims}},
	{sourceFigures, Beside, nil},
	{nodes, Beside, nil},
	{imported, Beside, nil},
	{costs, Beside, nil},
	{capacities, Below, nil},
	{atLoads, Below, nil},
	{within, Below, nil},
	{growths, Below, nil},
	{copies, Below, nil},
	{starts, Below, nil},
	{paths, Below, nil},
	{environments, Below, []Excerpt{Columns, Paper}},
	{failures, Below, []Excerpt{Why, Columns}},
	{notes, Below, nil},
	{made, Below, nil},
}

// Of returns the sections of a report, or of an excerpt.
func Of(v *model.Report, of Excerpt, o Options) (all []Section) {
	for _, one := range sections {
		if of == All || slices.Contains(one.in, of) {
			if s := one.build(v, o); len(s.Parts) > 0 {
				s.Place = one.place
				all = append(all, s)
			}
		}
	}
	return all
}

// Split separates the sections that come first of all from the others.
func Split(all []Section) (first, others []Section) {
	is := func(s Section) bool { return s.Place == First }
	return lists.Filter(all, is), lists.Filter(all, func(s Section) bool { return !is(s) })
}

// Part is a piece of a section. What it does not have is left out.
type Part struct {
	Title string
	Sub   bool // the title is below one of the page
	// Folded is what a part says that is closed until a reader opens it.
	Folded   string
	Lead     Cell
	Chart    string // the chart of the page that shows the same
	Figure   any    // what a format that draws draws above the table
	Table    *Table
	Notes    []Cell
	Numbered []string // explanations that cells refer to, from 1
	Last     string
}

// Table is a table. On a terminal, it becomes lines of text where it does not fit.
type Table struct {
	About   string // for readers who do not see it; "" for the title
	Class   string // of the page
	Columns []Column
	Rows    []Row
	Cards   bool // a narrow window shows each row by itself, with the heads beside the cells
	Lines   bool // a terminal writes each cell in a line of its own
	Pieces  bool // a terminal shows the columns that do not fit below the others
	Slim    bool // a terminal leaves bars out where they would take the room of a column
}

// Column is a column of a table.
type Column struct {
	Head   string
	Number bool // aligned at the right
	Key    bool // names the row
	Group  bool // it stands above the rows that share it, where that saves room
	// Spare columns are left out where there is no room for them: 1 goes first.
	Spare int
	Over  string // a head over this column and its neighbours with the same
	Class string // of the page
	Say   string // a cell in a sentence, such as "%s copies,"; "" for the head before it
}

// Row is a row of a table. If it has fewer cells than columns, the last one spans the
// rest.
type Row struct {
	ID, Class string // of the page
	Cells     []Cell
	Heading   bool // of the rows below it
	Bar       *Bar
	Group     string // what it shares with its neighbours, in a narrow table
}

// Bar is a part of a whole, from where it begins to where it ends, between 0 and 1.
type Bar struct {
	From, To float64
	Light    bool
}

// Cell is a text made of pieces.
type Cell []Text

// Text is a piece of a text with its style.
type Text struct {
	Text  string
	Style Style
	Class string // of the page, for a verdict, a state or a link
	Link  string // an anchor
	About string
	Break bool // begins a line
	Spare int  // left out on a terminal without room for it: 1 goes first
}

// Style is how a piece of text is shown.
type Style string

// The styles.
const (
	Plain   Style = ""
	Strong  Style = "strong"
	Quiet   Style = "quiet"
	Code    Style = "code"
	Ends    Style = "ends"
	Label   Style = "label" // of an environment, in brackets
	Verdict Style = "verdict"
	Mark    Style = "mark"   // of a confound
	Amount  Style = "amount" // a bar of that width
)

// Options say how much is told.
type Options struct {
	Short bool // for a terminal: without what only documents have
	Paper bool // for a table in a paper: without what its text says
	All   bool // no list is cut
}

// Narrow is a table without the columns that go first where there is no room, and without
// those that are empty. What stands above the rows is their group.
func (t *Table) Narrow(narrower int) *Table {
	narrow := *t
	narrow.Columns, narrow.Rows = nil, nil
	var kept, shared []int
	for i, c := range t.Columns {
		filled := slices.ContainsFunc(t.Rows, func(r Row) bool { return i < len(r.Cells) && r.Cells[i].Plain(0) != "" })
		if c.Group && filled {
			shared = append(shared, i)
		} else if filled && (c.Spare == 0 || c.Spare > narrower) {
			kept, narrow.Columns = append(kept, i), append(narrow.Columns, c)
		}
	}
	for _, r := range t.Rows {
		cells := r.Cells
		r.Cells = nil
		for n, i := range shared {
			if i < len(cells) {
				r.Group += []string{"", ": ", ", "}[min(n, 2)] + cells[i].Plain(0)
			}
		}
		for _, i := range kept {
			if i < len(cells) {
				r.Cells = append(r.Cells, cells[i])
			}
		}
		if last := len(cells) - 1; last >= 0 && last < len(t.Columns)-1 && !slices.Contains(kept, last) && !slices.Contains(shared, last) {
			r.Cells = append(r.Cells, cells[last]) // it spans columns that stay
		}
		narrow.Rows = append(narrow.Rows, r)
	}
	return &narrow
}

// Plain is a cell without its styles, and without the pieces that go first where there is
// no room: 0 is all of them.
func (c Cell) Plain(narrower int) (text string) {
	for _, t := range c {
		switch {
		case t.Spare > 0 && t.Spare <= narrower, t.Style == Amount:
			continue
		case t.Break && strings.HasSuffix(text, ":"):
			text += " "
		case t.Break && text != "":
			text += "; "
		case t.Style == Label:
			text += " [" + t.Text + "]"
			continue
		}
		text += t.Text
	}
	return text
}

func plain(text string) Cell { return Cell{{Text: text}} }

func plains[T ~string](texts []T) (cells []Cell) {
	for _, t := range texts {
		cells = append(cells, plain(string(t)))
	}
	return cells
}

// Line is a row of strings, numbers and cells.
func Line(values ...any) (r Row) {
	for _, v := range values {
		switch v := v.(type) {
		case string:
			r.Cells = append(r.Cells, plain(v))
		case int:
			r.Cells = append(r.Cells, plain(strconv.Itoa(v)))
		case Cell:
			r.Cells = append(r.Cells, v)
		}
	}
	return r
}

func column(head string) Column { return Column{Head: head} }
func group(head string) Column  { return Column{Head: head, Group: true} }
func key(head string) Column    { return Column{Head: head, Key: true} }
func number(head string) Column { return Column{Head: head, Number: true} }
func ends(head string) Column   { return Column{Head: head, Class: "ends"} }
func prose(head string) Column  { return Column{Head: head, Class: "prose"} }

// spare makes a column one that a narrow terminal leaves out.
func (c Column) spare(order int) Column { c.Spare = order; return c }

// say is how a cell of the column stands in a sentence.
func (c Column) say(form string) Column { c.Say = form; return c }
