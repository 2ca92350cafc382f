package rundir

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"pgregory.net/rapid"

	"tare/internal/usage"
)

// drawn are the looks at some instances; a figure that is missing is so for one
// reason throughout.
func drawn(t *rapid.T) (all []InstanceSeries) {
	for n := range rapid.IntRange(0, 3).Draw(t, "instances") {
		w := InstanceSeries{Instance: rapid.SampledFrom([]string{"b1-docker-1", "ü-2", "c"}).Draw(t, "name"), Copy: n + 1, Series: &usage.Series{Began: time.UnixMicro(1700000000123456)}}
		for look := range rapid.IntRange(1, 200).Draw(t, "looks") {
			r := usage.Reading{Seconds: float64(look) / 8}
			for _, q := range usage.Quantities {
				*q.Of(&r) = usage.Known(rapid.Float64Range(0, 1e15).Draw(t, q.Name))
			}
			r.DiskReads = usage.Absent("the kernel does not tell")
			if look%3 > 0 {
				r.Switches = usage.Absent("not read in every reading")
			}
			w.Add(&r)
		}
		all = append(all, w)
	}
	return all
}

func TestReadingsComeBackAsTheyWereWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := drawn(t)
		data, rows, err := encodeReadings(Trial{Environment: "docker", Workload: "redis", Block: 1}, all)
		if err != nil {
			t.Fatal(err)
		}
		back, err := decodeReadings(data)
		if err != nil || len(back) != len(all) {
			t.Fatalf("%d series of %d came back: %v", len(back), len(all), err)
		}
		for i, w := range all {
			rows -= w.Len()
			if got := back[i]; got.Instance != w.Instance || got.Copy != w.Copy || !got.Began.Equal(w.Began) || got.Len() != w.Len() {
				t.Fatalf("%+v came back as %+v", w, got)
			}
			for n := range w.Len() {
				if got, want := back[i].At(n), w.At(n); !reflect.DeepEqual(got, want) {
					t.Fatalf("look %d: %+v came back as %+v", n, want, got)
				}
			}
		}
		if rows != 0 {
			t.Fatalf("%d rows are too many", rows)
		}
	})
}

func TestReadingsThatClaimMoreThanTheirFileHasAreRefused(t *testing.T) {
	one := InstanceSeries{Instance: "b1-docker-1", Series: &usage.Series{Began: time.Unix(1, 0)}}
	one.Add(&usage.Reading{Seconds: .5})
	data, _, err := encodeReadings(Trial{}, []InstanceSeries{one})
	if err != nil {
		t.Fatal(err)
	}
	allocated := func(data []byte) (uint64, error) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := decodeReadings(data)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc, err
	}
	footer := bytes.Clone(data)
	binary.LittleEndian.PutUint32(footer[len(footer)-8:], 1<<28)
	// Fields that nobody knows: a list of 2^31 elements, and lists in lists.
	forged := func(fields ...byte) []byte {
		return binary.LittleEndian.AppendUint32(append([]byte("PAR1"), fields...), uint32(len(fields)))
	}
	long := append(forged(0x2f&0xf0|9, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0), "PAR1"...)
	deep := append(forged(append([]byte{0xf9}, bytes.Repeat([]byte{0x19}, 16<<20)...)...), "PAR1"...)
	for what, data := range map[string][]byte{"a long list": long, "deep lists": deep, "a footer": footer, "42 bytes": footer[len(footer)-42:], "nothing": nil, "8 bytes": footer[len(footer)-8:]} {
		if bytes, err := allocated(data); err == nil || bytes > 16<<20 {
			t.Errorf("%s: %d bytes: %v", what, bytes, err)
		}
	}
}

// The pages of a file are as tare wrote them, and one unpacks to a gigabyte: the library
// would unpack it, and then compare.
func TestAPageOfReadingsUnpacksToNoMoreThanItClaims(t *testing.T) {
	pack, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer pack.Close()
	packed := func(bytes int) []byte { return pack.EncodeAll(make([]byte, bytes), nil) }
	pageOf := func(claim int, values []byte, levels int) []byte {
		header := format.PageHeader{Type: format.DataPageV2, UncompressedPageSize: int32(claim), CompressedPageSize: int32(levels + len(values)),
			DataPageHeaderV2: thrift.New(format.DataPageHeaderV2{DefinitionLevelsByteLength: int32(levels)})}
		text, err := thrift.Marshal(new(thrift.CompactProtocol), &header)
		if err != nil {
			t.Fatal(err)
		}
		return append(append(text, make([]byte, levels)...), values...)
	}
	for claim, c := range map[int]struct {
		page []byte
		want string
	}{
		1000: {pageOf(1000, packed(1000), 3), ""},
		999:  {pageOf(999, packed(1000), 3), "it has more"},
		100:  {pageOf(100, packed(1<<30), 0), "100 bytes: it has more"},
		10:   {pageOf(10, packed(10), 40)[:40], "unpacked from"},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err := checkColumn(c.page, int64(claim), format.Zstd)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 32<<20 || c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("a page that claims %d bytes: %d bytes: %v", claim, used, err)
		}
	}
	if err := checkColumn(nil, 0, format.Snappy); err == nil || !strings.Contains(err.Error(), "compressed with") {
		t.Error(err)
	}
}

func TestAChangedByteInReadingsIsNoPanic(t *testing.T) {
	one := InstanceSeries{Instance: "b1-docker-1", Series: &usage.Series{Began: time.Unix(1, 0)}}
	one.Add(&usage.Reading{Seconds: .5})
	data, _, err := encodeReadings(Trial{}, []InstanceSeries{one})
	if err != nil {
		t.Fatal(err)
	}
	footer := len(data) - 8 - int(binary.LittleEndian.Uint32(data[len(data)-8:]))
	for at := 0; at < footer; at += 7 {
		changed := bytes.Clone(data)
		changed[at] ^= 0x40
		_, _ = decodeReadings(changed)
	}
}

func TestReadingsAreInTheRunDirectoryWithTheirChecksum(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "run")
	w, err := Create(directory, smallPlan(), Manifest{Run: "x"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	one := InstanceSeries{Instance: "b1-docker-1", Series: &usage.Series{Began: time.Unix(1, 0)}}
	r := usage.Reading{Seconds: .5, CPUUser: usage.Known(.25), DiskReads: usage.Absent("the kernel does not tell")}
	one.Add(&r)
	trial := Trial{Block: 1, Position: 1, Environment: "docker", Workload: "redis", Level: "clients=1", Status: OK, Metrics: map[string]float64{}}
	if trial.Readings, err = w.KeepReadings(trial, []InstanceSeries{one}); err != nil {
		t.Fatal(err)
	}
	again, err := w.KeepReadings(trial, []InstanceSeries{one})
	if err != nil || again.Path == trial.Readings.Path {
		t.Errorf("a second attempt at the trial lies at %q: %v", again.Path, err)
	}
	if err := w.Append(trial); err != nil {
		t.Fatal(err)
	}
	back, err := w.Readings(w.Trials[0])
	if err != nil || len(back) != 1 || back[0].At(0) != r {
		t.Errorf("%+v came back: %v", back, err)
	}
	path := filepath.Join(directory, trial.Readings.Path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"environment": "docker", "unit:memory": "B", "missing:disk_reads": "the kernel does not tell"} {
		if got, _ := file.Lookup(key); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if err := w.Seal(); err != nil {
		t.Fatal(err)
	}
	if wrong, err := w.Verify(); err != nil || len(wrong) > 0 {
		t.Errorf("%v, %v", wrong, err)
	}
	if err := os.WriteFile(path, append(data, 0), 0o644); err != nil {
		t.Fatal(err)
	}
	if wrong, _ := w.Verify(); len(wrong) != 2 {
		t.Errorf("samples that were changed: %v", wrong)
	}
}
