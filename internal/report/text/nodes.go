package text

import (
	"strconv"

	"tare/internal/report/model"
)

// nodes prints a table for each comparison, a line a node.
func (t *terminal) nodes(rows []model.NodesRow) {
	if len(rows) == 0 {
		return
	}
	t.heading(model.NodesTitle)
	t.wrap(2, model.NodesLead+".")
	last := ""
	for _, r := range rows {
		last = t.group(last, model.LevelTitle(r.Workload, r.Level)+": "+r.Metric)
		table := [][]string{{r.Environment.Shown, "blocks", "change", "interval", ""}}
		for _, line := range r.Lines {
			table = append(table, []string{line.Node, strconv.Itoa(line.Blocks), line.Change, line.Interval, line.Remark})
		}
		t.rows(table)
		if text := r.OmittedText(); text != "" {
			t.wrap(2, text)
		}
	}
}
