package tables

import (
	"bytes"
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/visible"
	"tare/internal/report/model"
)

// Missing is a cell of CSV without a value, as R and pandas read it.
const Missing = "NA"

// CSV writes each table that has rows as a file.
func CSV(v *model.Report) (files []model.File, err error) {
	for _, t := range Of(v) {
		if len(t.Rows) == 0 && !t.Always {
			continue
		}
		var out bytes.Buffer
		w := csv.NewWriter(&out)
		cells := lists.Map(t.Columns, func(c Column) string { return c.Name })
		_ = w.Write(cells) // a buffer takes all
		for _, row := range t.Rows {
			for i, cell := range row {
				cells[i] = cellOf(cell)
			}
			_ = w.Write(cells)
		}
		w.Flush()
		files = append(files, model.File{Name: t.Name + ".csv", Data: out.Bytes()})
	}
	return files, nil
}

func cellOf(cell any) string {
	switch x := cell.(type) {
	case nil:
		return Missing
	case float64:
		return strconv.FormatFloat(x, 'g', -1, 64)
	case int64:
		return strconv.FormatInt(x, 10)
	case bool:
		return strings.ToUpper(strconv.FormatBool(x)) // as R writes and reads it, and pandas reads it too
	case time.Time:
		return x.Format(time.RFC3339Nano)
	}
	return inert(cell.(string))
}

// inert is a text that no spreadsheet takes for a formula and no reader for a missing
// value: one that could be is preceded by an apostrophe, as spreadsheets mark text.
func inert(s string) string {
	s = visible.Line(s)
	if s == Missing || s != "" && strings.ContainsRune("=+-@'\uFF1D\uFF0B\uFF0D\uFF20", []rune(s)[0]) {
		return "'" + s
	}
	return s
}
