package text

import (
	"tare/internal/report/model"
	"tare/internal/usage/evidence"
)

// brieflyShown is how many rows of each kind stand below the verdicts on a
// terminal, where not all is asked for.
const brieflyShown = 5

// briefly shortens the tables, unless all is asked for.
func briefly(tables []model.KernelTable, all bool) []model.KernelTable {
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

func (t *terminal) kernel(tables []model.KernelTable) {
	for i, k := range tables {
		t.heading(model.KernelTitle + ": " + k.Heading())
		if i == 0 {
			t.wrap(2, model.KernelLead)
		}
		t.WriteString(evidence.Text(k.Sections, k.Slow, k.Fast))
		for _, r := range k.Remarks {
			t.wrap(2, "note: "+r)
		}
	}
}
