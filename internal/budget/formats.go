package budget

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"tare/internal/report/model"
	"tare/internal/visible"
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

// Subject is what a result is about: nginx requests_per_second docker/native.
func (r Result) Subject() string {
	who := r.Environment
	if r.Baseline != "" {
		who += "/" + r.Baseline
	}
	if r.Label != "" {
		who += " [" + r.Label + "]"
	}
	return strings.Join(strings.Fields(model.LevelTitle(r.Workload, r.Level)+" "+r.Metric+" "+who), " ")
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
	text := fmt.Sprintf("%s: %s %s, %s in %s", r.Outcome, r.Subject(), r.Limit(), r.Measured(), model.Counted(r.N, "block", "blocks"))
	if r.Reason != "" {
		text += "; " + r.Reason
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
	Output  string   `xml:"system-out"`
}

type problem struct {
	Message string `xml:"message,attr"`
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
		one := junitCase{Class: model.LevelTitle(r.Workload, r.Level), Name: r.Subject() + " " + r.Limit(), Output: r.Sentence()}
		switch {
		case r.Outcome == Broken:
			one.Failure = &problem{r.Sentence()}
		case r.Outcome == Undecided && s.AllowUndecided:
			one.Skipped = &problem{r.Sentence()}
		case r.Outcome == Undecided:
			one.Error = &problem{r.Sentence()}
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

// writeMarkdown writes a table. Names come from the study, so they are escaped.
func writeMarkdown(w io.Writer, s Sheet) error {
	var b strings.Builder
	fmt.Fprintf(&b, "**tare: %s**\n\n| | rule | bound | measured [interval] | blocks |\n|---|---|---|---|---:|\n", s)
	for _, r := range s.Results {
		mark := string(r.Outcome)
		if r.Outcome != Met {
			mark = "**" + mark + "**"
		}
		mark += r.Mark()
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %d |\n", mark, visible.Markdown(r.Subject()), visible.Markdown(r.Limit()), visible.Markdown(r.Measured()), r.N)
	}
	between := "\n"
	for _, r := range s.Results {
		if r.Outcome == Undecided {
			fmt.Fprintf(&b, "%s- %s\n", between, visible.Markdown(r.Sentence()))
			between = ""
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

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
