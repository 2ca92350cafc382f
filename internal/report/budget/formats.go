package budget

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/base/visible"
	"tare/internal/report/model"
)

// Sheet is the check of a run, as all formats show it.
type Sheet struct {
	Run     string   `json:"run"`
	Budget  string   `json:"budget"`
	Outcome Outcome  `json:"outcome"` // of the whole: broken if a rule is, met if all are
	Results []Result `json:"results"`
	// AllowUndecided: an undecided rule does not count against the run.
	AllowUndecided bool `json:"allow_undecided"`
}

// NewSheet is the sheet of a run's results.
func NewSheet(run, budget string, results []Result) Sheet {
	s := Sheet{Run: run, Budget: budget, Outcome: Met, Results: results}
	switch _, broken, undecided := Sum(results); {
	case broken > 0:
		s.Outcome = Broken
	case undecided > 0:
		s.Outcome = Undecided
	}
	return s
}

// String is the first line of a sheet: 3 met, 1 broken, 0 undecided.
func (s Sheet) String() string {
	met, broken, undecided := Sum(s.Results)
	return fmt.Sprintf("%d met, %d broken, %d undecided", met, broken, undecided)
}

// Subject is what a result is about, as a rule writes it: redis clients=50 get_rps
// docker/native.
func (r Result) Subject() string {
	who := r.Environment
	if r.Baseline != "" {
		who += "/" + r.Baseline
	}
	if r.Label != "" {
		who += " [" + r.Label + "]"
	}
	return strings.Join(strings.Fields(place(r.Workload, r.Level)+" "+r.Metric+" "+who), " ")
}

// Mark says that a confound affects what was compared.
func (r Result) Mark() string { return model.ConfoundMark(&r.contrast) }

// Limit is the bound with its sign: >= 0.9.
func (r Result) Limit() string {
	if r.atLeast {
		return ">= " + r.bound
	}
	return "<= " + r.bound
}

// Sentence says what was measured, and why a result is undecided.
func (r Result) Sentence() string {
	text := fmt.Sprintf("%s: %s %s, %s in %s", r.Outcome, r.Subject(), r.Limit(), r.Measured(), quantity.Counted(r.N, "block", "blocks"))
	if r.Reason != "" {
		text += "; " + r.Reason
	}
	if r.Mark() != "" {
		text += "; " + model.Confounded
	}
	return text
}

// Format is one way of writing a sheet.
type Format struct {
	Name, About string
	Write       func(w io.Writer, s Sheet) error
}

// Formats are those besides the table of the terminal.
var Formats = []Format{
	{"json", "every number, for a program", writeJSON},
	{"junit", "JUnit XML, which CI systems show as tests", writeJUnit},
	{"md", "a Markdown table for a comment on a pull request", writeMarkdown},
	{"github", "annotations of GitHub Actions", writeGitHub},
}

func writeJSON(w io.Writer, s Sheet) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // <= and >= are to be read
	e.SetIndent("", "  ")
	return e.Encode(s)
}

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Failure *problem `xml:"failure"`
	Error   *problem `xml:"error"`
	Skipped *problem `xml:"skipped"`
	Output  string   `xml:"system-out,omitempty"`
}

// problem says the same twice: Jenkins shows the message, and GitLab the text.
type problem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// writeJUnit writes a broken rule as a failure, and an undecided one as an error: the
// run could not say; where that is allowed, as skipped. The form is the one that Jenkins
// and GitLab read.
func writeJUnit(w io.Writer, s Sheet) error {
	_, broken, undecided := Sum(s.Results)
	suite := junitSuite{Name: "tare check " + s.Run, Tests: len(s.Results), Failures: broken, Errors: undecided}
	if s.AllowUndecided {
		suite.Errors, suite.Skipped = 0, undecided
	}
	for _, r := range s.Results {
		said := &problem{r.Sentence(), string(r.Outcome), r.Sentence()}
		one := junitCase{Class: place(r.Workload, r.Level), Name: r.Subject() + " " + r.Limit()}
		switch {
		case r.Outcome == Broken:
			one.Failure = said
		case r.Outcome == Undecided && s.AllowUndecided:
			one.Skipped = said
		case r.Outcome == Undecided:
			one.Error = said
		default:
			one.Output = said.Text
		}
		suite.Cases = append(suite.Cases, one)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(suite); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// mostOpen is how many rules that are met a comment shows without being asked.
const mostOpen = 10

// The bytes after which no row of what is not met is begun, none of what is met, and no
// note: GitHub takes comments of 65536 characters.
const mostNotMet, mostMet, mostNotes = 35_000, 50_000, 60_000

// writeMarkdown writes a table: what is not met first, and many that are met folded away.
// Names come from the study, so they are escaped.
func writeMarkdown(w io.Writer, s Sheet) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**tare: %s**\n", s)
	open, met := s.Results, []Result(nil)
	if len(lists.Filter(s.Results, Result.met)) > mostOpen {
		met = lists.Filter(s.Results, Result.met)
		open = lists.Filter(s.Results, func(r Result) bool { return !r.met() })
	}
	order := map[Outcome]int{Broken: 0, Undecided: 1, Met: 2}
	open = slices.SortedStableFunc(slices.Values(open), func(a, b Result) int { return order[a.Outcome] - order[b.Outcome] })
	markdownRows(&b, open, mostNotMet)
	if len(met) > 0 {
		fmt.Fprintf(&b, "\n<details><summary>%d met</summary>\n", len(met))
		markdownRows(&b, met, mostMet)
		b.WriteString("\n</details>\n")
	}
	var notes []string
	for _, r := range open {
		if r.Reason != "" {
			notes = append(notes, fmt.Sprintf("%s, line %d: %s", r.Outcome, r.Line, r.Reason))
		}
	}
	if slices.ContainsFunc(s.Results, func(r Result) bool { return r.Mark() != "" }) {
		notes = append(notes, model.Mark+" "+model.Confounded)
	}
	notes = slices.Compact(notes)
	for i, note := range notes {
		if i == 0 {
			b.WriteString("\n")
		}
		line := fmt.Sprintf("- %s\n", visible.Markdown(note))
		if b.Len()+len(line) > mostNotes {
			fmt.Fprintf(&b, "- %d more are not shown\n", len(notes)-i)
			break
		}
		b.WriteString(line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownRows(b *strings.Builder, results []Result, most int) {
	if len(results) == 0 {
		return
	}
	b.WriteString("\n| | rule | bound | measured [interval] | blocks |\n|---|---|---|---|---:|\n")
	for n, r := range results {
		mark := string(r.Outcome)
		if !r.met() {
			mark = "**" + mark + "**"
		}
		mark += r.Mark()
		row := fmt.Sprintf("| %s | %s | %s | %s | %d |\n", mark, visible.Markdown(r.Subject()), visible.Markdown(r.Limit()), visible.Markdown(r.Measured()), r.N)
		if b.Len()+len(row) > most {
			fmt.Fprintf(b, "\n%d more are not shown.\n", len(results)-n)
			return
		}
		b.WriteString(row)
	}
}

func (r Result) met() bool { return r.Outcome == Met }

// data is the text of a workflow command, and property the value of one of its
// properties: github.com/actions/toolkit, packages/core/src/command.ts.
var (
	data     = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

func writeGitHub(w io.Writer, s Sheet) error {
	for _, r := range s.Results {
		level := map[Outcome]string{Broken: "error", Undecided: "warning", Met: "notice"}[r.Outcome]
		if _, err := fmt.Fprintf(w, "::%s file=%s,line=%d,title=%s::%s\n", level, property.Replace(s.Budget), r.Line, property.Replace("tare: "+string(r.Outcome)), data.Replace(visible.Line(r.Sentence()))); err != nil {
			return err
		}
	}
	return nil
}
