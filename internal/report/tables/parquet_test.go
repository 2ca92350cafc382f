package tables

import (
	"bytes"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/needs"
	"tare/internal/testing/reporttest"
)

func TestParquetReadsBackAsTheTables(t *testing.T) {
	for name, in := range inputs() {
		v := model.New(in)
		files, err := Parquet(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, table := range Of(v) {
			i := slices.IndexFunc(files, func(f model.File) bool { return f.Name == table.Name+".parquet" })
			if i < 0 {
				continue
			}
			file, err := parquet.OpenFile(bytes.NewReader(files[i].Data), int64(len(files[i].Data)))
			if err != nil || file.NumRows() != int64(len(table.Rows)) {
				t.Fatalf("%s, %s: %v", name, table.Name, err)
			}
			reader, rows := parquet.NewReader(file), make([]parquet.Row, len(table.Rows))
			if n, err := reader.ReadRows(rows); n != len(rows) || err != nil && !errors.Is(err, io.EOF) {
				t.Fatalf("%s, %s: %d rows, %v", name, table.Name, n, err)
			}
			for j, c := range table.Columns {
				if have := strings.Join(file.Schema().Columns()[j], "."); have != c.Name {
					t.Errorf("column %d is %s, not %s", j, have, c.Name)
				}
				if about, _ := file.Lookup("about:" + c.Name); about != c.About {
					t.Errorf("%s: about %q", c.Name, about)
				}
				for k, row := range table.Rows {
					if have := valueOf(rows[k][j], c.Type); have != row[j] && (c.Type != Time || !row[j].(time.Time).Truncate(time.Microsecond).Equal(have.(time.Time))) {
						t.Fatalf("%s, %s, %s: %v, and the table has %v", name, table.Name, c.Name, have, row[j])
					}
				}
			}
		}
	}
}

func valueOf(v parquet.Value, as Type) any {
	switch {
	case v.IsNull():
		return nil
	case as == Number:
		return v.Double()
	case as == Integer:
		return v.Int64()
	case as == Boolean:
		return v.Boolean()
	case as == Time:
		return time.UnixMicro(v.Int64()).UTC()
	}
	return string(v.ByteArray())
}

func TestPandasReadsTheTables(t *testing.T) {
	needs.Program(t, "python3")
	if out, err := exec.Command("python3", "-c", "import pandas, pyarrow").CombinedOutput(); err != nil {
		t.Skipf("needs pandas and pyarrow: %s", bytes.TrimSpace(out))
	}
	directory, v := t.TempDir(), model.New(reporttest.OnNodes("a", "b"))
	for _, export := range []func(*model.Report) ([]model.File, error){CSV, Parquet} {
		files, err := export(v)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := rundir.Replace(directory, f.Name, f.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	script := `
import pandas as pd, sys, glob
for name in sorted(glob.glob(sys.argv[1] + "/*.csv")):
    c, p = pd.read_csv(name), pd.read_parquet(name[:-3] + "parquet")
    assert list(c.columns) == list(p.columns), name
    assert len(c) == len(p) > 0, name
    for column in c.columns:
        assert (c[column].isna() == p[column].isna()).all(), (name, column)
        if c[column].dtype == float:
            assert (c[column].dropna() == p[column].dropna().astype(float)).all(), (name, column)
o = pd.read_csv(sys.argv[1] + "/observations.csv", parse_dates=["started"])
print(o[o.metric == "requests"].groupby(["node", "environment"]).value.median())
`
	out, err := exec.Command("python3", "-c", script, directory).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}
