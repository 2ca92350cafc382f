package rundir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/parquet-go/parquet-go"

	"tare/internal/usage"
)

// readingsDirectory holds a Parquet file for each trial, with a row for each reading of
// one of its instances.
const readingsDirectory = "samples"

// ReadingsFile is the file with the resource usage of a trial's instances over time.
type ReadingsFile struct {
	Path   string `json:"path"` // below the run directory
	SHA256 string `json:"sha256"`
	Bytes  int64  `json:"bytes"`
	Rows   int    `json:"rows"`
}

// InstanceSeries are the readings of one instance in a trial.
type InstanceSeries struct {
	Instance string
	Copy     int // of the workload, from 1; 0 where there is one
	*usage.Series
}

// The columns besides those of usage.Quantities.
const (
	columnInstance = "instance"
	columnCopy     = "copy"
	columnTime     = "time"
	columnSeconds  = "seconds"
)

// missingKey prefixes the metadata keys with the reasons for columns without values.
const missingKey = "missing:"

var readingsSchema = func() *parquet.Schema {
	group := parquet.Group{
		columnInstance: parquet.Encoded(parquet.String(), &parquet.RLEDictionary),
		columnCopy:     parquet.Int(32),
		columnTime:     parquet.Timestamp(parquet.Microsecond),
		columnSeconds:  parquet.Leaf(parquet.DoubleType),
	}
	for _, q := range usage.Quantities {
		group[q.Name] = parquet.Optional(parquet.Leaf(parquet.DoubleType))
	}
	return parquet.NewSchema("samples", group)
}()

// columnOf is the index of each column, by name.
var columnOf = func() map[string]int {
	places := map[string]int{}
	for place, path := range readingsSchema.Columns() {
		places[path[0]] = place
	}
	return places
}()

// KeepReadings writes the readings of a trial's instances, synced to disk. Files of
// an interrupted attempt at the same trial are kept.
func (w *Writer) KeepReadings(t Trial, all []InstanceSeries) (*ReadingsFile, error) {
	data, rows, err := encodeReadings(t, all)
	if err != nil || rows == 0 {
		return nil, err
	}
	directory := filepath.Join(readingsDirectory, fmt.Sprintf("block-%03d", t.Block))
	name := fileName(t.Environment, t.Workload, t.Level)
	sum := sha256.Sum256(data)
	kept := &ReadingsFile{Path: filepath.Join(directory, name+".parquet"), SHA256: hex.EncodeToString(sum[:]), Bytes: int64(len(data)), Rows: rows}
	for attempt := 2; ; attempt++ {
		err := newFile(w.Directory, kept.Path, data)
		if !errors.Is(err, fs.ErrExist) {
			if err != nil {
				err = fmt.Errorf("keep %s: %w", kept.Path, err)
			}
			return kept, err
		}
		kept.Path = filepath.Join(directory, fmt.Sprintf("%s.%d.parquet", name, attempt))
	}
}

// newFile writes a file that must not exist, synced to disk.
func newFile(directory, name string, data []byte) error {
	file, err := openFile(directory, name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	return errors.Join(err, file.Sync(), file.Close())
}

func encodeReadings(t Trial, all []InstanceSeries) ([]byte, int, error) {
	var out bytes.Buffer
	options := []parquet.WriterOption{
		readingsSchema, parquet.Compression(&parquet.Zstd), parquet.CreatedBy("tare", "", ""),
		// A file is small and written at once.
		parquet.PageBufferSize(16 << 10), parquet.WriteBufferSize(0),
		parquet.KeyValueMetadata("environment", t.Environment), parquet.KeyValueMetadata("workload", t.Workload),
		parquet.KeyValueMetadata("level", t.Level), parquet.KeyValueMetadata("block", fmt.Sprint(t.Block)),
	}
	told := map[string]bool{}
	for _, q := range usage.Quantities {
		options = append(options, parquet.KeyValueMetadata("unit:"+q.Name, q.Unit), parquet.KeyValueMetadata("about:"+q.Name, string(q.Kind)+": "+q.About))
		for _, one := range all {
			if why := one.Missing(q.Name); why != "" && !told[q.Name] {
				told[q.Name] = true
				options = append(options, parquet.KeyValueMetadata(missingKey+q.Name, why))
			}
		}
	}
	writer := parquet.NewWriter(&out, options...)
	rows, row := 0, make(parquet.Row, len(columnOf))
	for _, one := range all {
		for n := range one.Len() {
			r := one.At(n)
			put := func(column string, v parquet.Value) {
				place := columnOf[column]
				row[place] = v.Level(0, 0, place)
			}
			put(columnInstance, parquet.ByteArrayValue([]byte(one.Instance)))
			put(columnCopy, parquet.Int32Value(int32(one.Copy)))
			put(columnTime, parquet.Int64Value(one.Began.Add(seconds(r.Seconds)).UnixMicro()))
			put(columnSeconds, parquet.DoubleValue(r.Seconds))
			for i := range usage.Quantities {
				q := &usage.Quantities[i]
				place, f := columnOf[q.Name], q.Of(&r)
				if f.Missing != "" {
					row[place] = parquet.NullValue().Level(0, 0, place)
				} else {
					row[place] = parquet.DoubleValue(f.Value).Level(0, 1, place)
				}
			}
			if _, err := writer.WriteRows([]parquet.Row{row}); err != nil {
				return nil, 0, err
			}
			rows++
		}
	}
	if err := writer.Close(); err != nil {
		return nil, 0, err
	}
	return out.Bytes(), rows, nil
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Readings reads the readings of a trial's instances; nil if there are none.
func (r *Run) Readings(t Trial) ([]InstanceSeries, error) {
	if t.Readings == nil {
		return nil, nil
	}
	data, err := readFile(r.Directory, t.Readings.Path)
	if err != nil {
		return nil, fmt.Errorf("read the readings of a trial: %w", err)
	}
	all, err := decodeReadings(data)
	if err != nil {
		return nil, fmt.Errorf("read the readings in %s: %w", t.Readings.Path, err)
	}
	return all, nil
}

func decodeReadings(data []byte) (all []InstanceSeries, err error) {
	if err := checkFooter(data); err != nil {
		return nil, err
	}
	defer func() {
		if r := recover(); r != nil { // the library's, about a file that was changed
			all, err = nil, fmt.Errorf("it is damaged: %v", r)
		}
	}()
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, err
	}
	if err := checkPages(data, file.Metadata()); err != nil {
		return nil, err
	}
	places := map[string]int{}
	for place, path := range file.Schema().Columns() {
		places[path[0]] = place
	}
	for _, column := range []string{columnInstance, columnCopy, columnTime, columnSeconds} {
		if _, there := places[column]; !there {
			return nil, fmt.Errorf("it has no column %s", column)
		}
	}
	absent := map[string]usage.Figure{}
	for _, q := range usage.Quantities {
		why, told := file.Lookup(missingKey + q.Name)
		if absent[q.Name] = usage.Absent("%s", why); !told {
			absent[q.Name] = usage.Absent("not recorded by the version of tare that ran the trial")
		}
	}
	reader := parquet.NewReader(file)
	defer reader.Close()
	rows := make([]parquet.Row, 64)
	for {
		n, err := reader.ReadRows(rows)
		for _, row := range rows[:n] {
			at := func(column string) parquet.Value { return row[places[column]] }
			instance, number := string(at(columnInstance).ByteArray()), int(at(columnCopy).Int32())
			second := at(columnSeconds).Double()
			if last := len(all) - 1; last < 0 || all[last].Instance != instance || all[last].Copy != number {
				began := time.UnixMicro(at(columnTime).Int64()).Add(-seconds(second))
				all = append(all, InstanceSeries{instance, number, &usage.Series{Began: began}})
			}
			r := usage.Reading{Seconds: second}
			for i := range usage.Quantities {
				q := &usage.Quantities[i]
				*q.Of(&r) = absent[q.Name]
				if place, there := places[q.Name]; there && !row[place].IsNull() {
					*q.Of(&r) = usage.Known(row[place].Double())
				}
			}
			all[len(all)-1].Add(&r)
		}
		if n == 0 || err != nil {
			if err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
			return all, nil
		}
	}
}
