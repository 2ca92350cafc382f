package report

import (
	"fmt"
	"strings"

	"tare/internal/evidence"
	"tare/internal/rundir"
)

const kernelTitle = "What the kernel did"

// kernelShown is how many rows of each kind a reader sees.
const kernelShown = 10

// kernelTable is what the kernel counted in an environment beside the baseline.
type kernelTable struct {
	Place      string
	Slow, Fast string
	Heads      [6]string
	Sections   []evidence.Section
	Remarks    []string
}

// Kernel are the tables of all that was traced on both sides.
func (v *view) Kernel() (tables []kernelTable) {
	for _, w := range v.Plan.Workloads {
		for _, l := range w.Levels {
			counted := map[string][]evidence.Counted{}
			for _, t := range v.Traced {
				if t.Status == rundir.OK && t.Evidence != nil && t.Workload == w.Name && t.Level == l.Name {
					counted[t.Environment] = append(counted[t.Environment], evidence.Counted{Evidence: *t.Evidence, Operations: t.Metrics[w.Pack.Operations]})
				}
			}
			base := counted[v.Plan.Baseline]
			for _, e := range v.Plan.Environments {
				here := counted[e.Name]
				if e.Name == v.Plan.Baseline || len(here) == 0 || len(base) == 0 {
					continue
				}
				t := kernelTable{
					Place: place(w.Name, l.Name), Slow: v.shown(e.Name), Fast: v.shown(v.Plan.Baseline),
					Sections: evidence.Table(evidence.CompareAll(here, base), kernelShown),
					Remarks:  evidence.Remarks(here, base),
				}
				t.Heads = evidence.Heads(t.Slow, t.Fast)
				if w.Pack.Operations == "" {
					t.Remarks = append([]string{"the workload counts no operations to divide by"}, t.Remarks...)
				}
				tables = append(tables, t)
			}
		}
	}
	return tables
}

// Heading names what a table is about.
func (t kernelTable) Heading() string {
	return fmt.Sprintf("%s: %s beside %s", t.Place, t.Slow, t.Fast)
}

// kernelLead says how the tables came about.
const kernelLead = "Medians of traced trials, which came after all others and are in no verdict: to be watched slows them. Times are of one operation, counts of a thousand; what is called on both sides alike, such as a driver inside, is in both."

// brieflyShown is how many rows of each kind stand below the verdicts on a
// terminal, where not all is asked for.
const brieflyShown = 5

// briefly shortens the tables, unless all is asked for.
func briefly(tables []kernelTable, all bool) []kernelTable {
	if all {
		return tables
	}
	for i := range tables {
		for k := range tables[i].Sections {
			s := &tables[i].Sections[k]
			if more := len(s.Rows) - brieflyShown; more > 0 {
				s.Rows, s.Left = s.Rows[:brieflyShown], s.Left+more
			}
		}
	}
	return tables
}

func (t *terminal) kernel(tables []kernelTable) {
	for i, k := range tables {
		fmt.Fprintf(t, "\n%s\n", t.paint(bold, kernelTitle+": "+k.Heading()))
		if i == 0 {
			t.wrap(2, kernelLead)
		}
		t.WriteString(evidence.Text(k.Sections, k.Slow, k.Fast))
		for _, r := range k.Remarks {
			t.wrap(2, "Mind: "+r)
		}
	}
}

func markdownKernel(b *strings.Builder, tables []kernelTable) {
	for i, k := range tables {
		fmt.Fprintf(b, "\n## %s: %s\n\n", kernelTitle, escape(k.Heading()))
		if i == 0 {
			fmt.Fprintf(b, "%s\n\n", kernelLead)
		}
		b.WriteString(strings.TrimRight(evidence.Markdown(k.Sections, k.Slow, k.Fast), "\n") + "\n")
		if len(k.Remarks) > 0 {
			b.WriteString("\n")
		}
		for _, r := range k.Remarks {
			fmt.Fprintf(b, "- %s\n", escape(r))
		}
	}
}
