package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"tare/internal/report"
)

// table prints rows in columns. The last column takes what is left of the
// width and is wrapped in it.
func table(w io.Writer, width int, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	widths := make([]int, len(rows[0])-1)
	for _, row := range rows {
		for i := range widths {
			widths[i] = max(widths[i], ansi.StringWidth(row[i]))
		}
	}
	indent := 0
	for _, n := range widths {
		indent += n + 2
	}
	room := max(width-indent, 24)
	for _, row := range rows {
		var line strings.Builder
		for i, n := range widths {
			line.WriteString(row[i] + strings.Repeat(" ", n-ansi.StringWidth(row[i])+2))
		}
		last := report.Wrap(row[len(row)-1], room)
		fmt.Fprintln(w, strings.TrimRight(line.String()+last[0], " "))
		for _, more := range last[1:] {
			fmt.Fprintln(w, strings.Repeat(" ", indent)+more)
		}
	}
}

// wide is how many columns of the terminal the rows take up to their last one.
func wide(rows [][]string) int {
	total := 0
	for i := range len(rows[0]) - 1 {
		most := 0
		for _, row := range rows {
			most = max(most, ansi.StringWidth(row[i]))
		}
		total += most + 2
	}
	return total
}

func printJSON(w io.Writer, value any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(value)
}
