package tables

import (
	"encoding/json"
	"testing"
	"time"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

func TestJSONHasTheTables(t *testing.T) {
	v := model.New(reporttest.OnNodes("a", "b"))
	files, err := JSON(v)
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(files[0].Data, &all); err != nil {
		t.Fatal(err)
	}
	for _, table := range Of(v) {
		var rows []map[string]any
		if err := json.Unmarshal(all[table.Name], &rows); err != nil || len(rows) != len(table.Rows) {
			t.Fatalf("%s: %d rows of %d, %v", table.Name, len(rows), len(table.Rows), err)
		}
		for i, row := range table.Rows {
			for j, c := range table.Columns {
				want := row[j]
				switch x := want.(type) {
				case int64:
					want = float64(x)
				case time.Time:
					want = x.Format(time.RFC3339Nano)
				}
				if have, has := rows[i][c.Name]; have != want || !has {
					t.Fatalf("%s, %s: %v, and the table has %v", table.Name, c.Name, have, want)
				}
			}
		}
	}
}
