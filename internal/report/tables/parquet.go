package tables

import (
	"bytes"
	"fmt"
	"reflect"
	"time"

	"github.com/parquet-go/parquet-go"

	"tare/internal/report/model"
)

// cellTypes are the Go types and the tags of the types of cells. All are optional, so a
// missing value is null.
var cellTypes = map[Type]struct {
	goType reflect.Type
	tag    string
}{
	Text:    {reflect.TypeFor[*string](), "optional,dict"},
	Number:  {reflect.TypeFor[*float64](), "optional"},
	Integer: {reflect.TypeFor[*int64](), "optional"},
	Boolean: {reflect.TypeFor[*bool](), "optional"},
	Time:    {reflect.TypeFor[*time.Time](), "optional,timestamp(microsecond)"},
}

// Parquet writes each table that has rows as a file. The metadata of a file have the unit
// and the meaning of each column.
func Parquet(v *model.Report) (files []model.File, err error) {
	for _, t := range Of(v) {
		if len(t.Rows) == 0 && !t.Always {
			continue
		}
		data, err := parquetOf(t)
		if err != nil {
			return nil, err
		}
		files = append(files, model.File{Name: t.Name + ".parquet", Data: data})
	}
	return files, nil
}

func parquetOf(t Table) ([]byte, error) {
	// A struct type, since the library sorts the columns of other schemas by name.
	var fields []reflect.StructField
	options := []parquet.WriterOption{parquet.Compression(&parquet.Zstd), parquet.CreatedBy("tare", "", "")}
	for i, c := range t.Columns {
		as := cellTypes[c.Type]
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("Column%d", i), Type: as.goType, Tag: reflect.StructTag(fmt.Sprintf(`parquet:"%s,%s"`, c.Name, as.tag))})
		options = append(options, parquet.KeyValueMetadata("about:"+c.Name, c.About))
		if c.Unit != "" {
			options = append(options, parquet.KeyValueMetadata("unit:"+c.Name, c.Unit))
		}
	}
	row := reflect.New(reflect.StructOf(fields))
	var out bytes.Buffer
	w := parquet.NewWriter(&out, append(options, parquet.SchemaOf(row.Interface()))...)
	for _, cells := range t.Rows {
		for i, cell := range cells {
			field := row.Elem().Field(i)
			if cell == nil {
				field.SetZero()
				continue
			}
			value := reflect.New(field.Type().Elem())
			value.Elem().Set(reflect.ValueOf(cell))
			field.Set(value)
		}
		if err := w.Write(row.Interface()); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
