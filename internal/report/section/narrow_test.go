package section

import (
	"testing"

	"tare/internal/base/lists"
)

func TestATableWithoutRoomLosesWhatCanBeSparedAndNoRemark(t *testing.T) {
	table := &Table{Columns: []Column{key(""), number("").spare(3), column(""), column("").spare(3)}, Rows: []Row{
		Line("docker", "12.2k/s", shorter("range ", "range [-13%, +19%]", ""), shorter("", "n=5 of ~183", " of ")),
		Line("", "not comparable: direct I/O in the sandbox"),
	}}
	for narrower, want := range [][2]string{
		{"docker|12.2k/s|range [-13%, +19%]|n=5 of ~183", "|not comparable: direct I/O in the sandbox"},
		{"docker|12.2k/s|range [-13%, +19%]|n=5", "|not comparable: direct I/O in the sandbox"},
		{"docker|12.2k/s|[-13%, +19%]|n=5", "|not comparable: direct I/O in the sandbox"},
		{"docker|[-13%, +19%]", "|not comparable: direct I/O in the sandbox"},
	} {
		for n, row := range table.Narrow(narrower).Rows {
			got := ""
			for i, cell := range lists.Map(row.Cells, func(c Cell) string { return c.Plain(narrower) }) {
				if i > 0 {
					got += "|"
				}
				got += cell
			}
			if got != want[n] {
				t.Errorf("step %d, row %d: %q, want %q", narrower, n, got, want[n])
			}
		}
	}
}
