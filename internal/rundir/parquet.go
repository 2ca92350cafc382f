package rundir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A Parquet file says how long its parts are, and the library allocates what it says.
// So this is compared with the file first, and with what tare's files have.
const (
	// maxParts is how many fields and elements of lists the footer can have, and
	// maxPageParts those of the header of a page. The library decodes a value in a value
	// by recursion, so this bounds its stack too.
	maxParts     = 1 << 17
	maxPageParts = 1 << 10
	// maxReadings is how many bytes, unpacked, and values a file can have.
	maxReadings = 1 << 28
	// mostWindow is how much memory a page may ask for to be unpacked.
	mostWindow = 16 << 20
)

// source is not called Reader, as one of its methods is.
type source interface{ thrift.Reader }

// parts counts the fields and elements that are read.
type parts struct {
	source
	left int
}

func (p *parts) take(n int32, err error) error {
	if p.left -= 1 + int(n); err == nil && p.left < 0 {
		return io.ErrShortBuffer // decode says what it means
	}
	return err
}

func (p *parts) ReadField() (thrift.Field, error) {
	f, err := p.source.ReadField()
	return f, p.take(0, err)
}

func (p *parts) ReadList() (thrift.List, error) {
	l, err := p.source.ReadList()
	return l, p.take(l.Size, err)
}

func (p *parts) ReadSet() (thrift.Set, error) {
	s, err := p.source.ReadSet()
	return s, p.take(s.Size, err)
}

func (p *parts) ReadMap() (thrift.Map, error) {
	m, err := p.source.ReadMap()
	return m, p.take(m.Size, err)
}

// decode reads the fields of a struct that a value has, and skips the others. The
// library's error would name each level of a value.
func decode(from *bytes.Reader, most int, into any) error {
	p := &parts{(&thrift.CompactProtocol{}).NewReader(from), most}
	if thrift.NewDecoder(p).Decode(into) == nil {
		return nil
	}
	if p.left < 0 {
		return fmt.Errorf("it claims to have more than %d parts", most)
	}
	return errors.New("it is damaged")
}

// checkFooter reads a file's footer without keeping anything.
func checkFooter(data []byte) error {
	const magic = 4
	end := len(data) - 2*magic
	if end < magic || binary.LittleEndian.Uint32(data[end:]) > uint32(end-magic) {
		return errors.New("its footer does not fit into it")
	}
	begin := end - int(binary.LittleEndian.Uint32(data[end:]))
	if err := decode(bytes.NewReader(data[begin:end]), maxParts, &struct{}{}); err != nil {
		return fmt.Errorf("its footer: %w", err)
	}
	return nil
}

// checkPages compares what the columns claim to have, and the headers of their pages.
func checkPages(data []byte, m *format.FileMetaData) error {
	unpacked, values := int64(0), int64(0)
	for _, group := range m.RowGroups {
		for _, c := range group.Columns {
			m := c.MetaData
			begin := m.DataPageOffset
			if m.DictionaryPageOffset != 0 {
				begin = m.DictionaryPageOffset
			}
			whole := int64(len(data))
			if begin < 0 || begin > whole || m.TotalCompressedSize < 0 || m.TotalCompressedSize > whole-begin ||
				!take(&unpacked, m.TotalUncompressedSize) || !take(&values, m.NumValues) {
				return fmt.Errorf("its column %s claims %d bytes with %d values, and the file has %d bytes", strings.Join(m.PathInSchema, "."), m.TotalUncompressedSize, m.NumValues, len(data))
			}
			if err := checkColumn(data[begin:begin+m.TotalCompressedSize], m.TotalUncompressedSize, m.Codec); err != nil {
				return fmt.Errorf("its column %s: %w", strings.Join(m.PathInSchema, "."), err)
			}
		}
	}
	return nil
}

// take adds a length to others, up to maxReadings.
func take(sum *int64, n int64) bool {
	if n < 0 || n > maxReadings {
		return false
	}
	*sum += n
	return *sum <= maxReadings
}

// checkColumn reads a column's pages, which claim a size when they are unpacked. The library
// unpacks whatever a page has before it compares.
func checkColumn(pages []byte, unpacked int64, codec format.CompressionCodec) error {
	if codec != format.Zstd && codec != format.Uncompressed {
		return fmt.Errorf("it is compressed with %v, and tare compresses with %v", codec, format.Zstd)
	}
	for from := bytes.NewReader(pages); from.Len() > 0; {
		var page struct {
			Unpacked int32 `thrift:"2,required"`
			Packed   int32 `thrift:"3,required"`
			Second   struct {
				Definitions int32             `thrift:"5"`
				Repetitions int32             `thrift:"6"`
				Packed      thrift.Null[bool] `thrift:"7,optional"`
			} `thrift:"8"`
		}
		at := len(pages) - from.Len()
		if err := decode(from, maxPageParts, &page); err != nil {
			return fmt.Errorf("its page at byte %d: %w", at, err)
		}
		if unpacked -= int64(page.Unpacked); page.Unpacked < 0 || unpacked < 0 || page.Packed < 0 || int(page.Packed) > from.Len() {
			return fmt.Errorf("its page at byte %d claims %d bytes, unpacked from %d", at, page.Unpacked, page.Packed)
		}
		begin := len(pages) - from.Len()
		if _, err := from.Seek(int64(page.Packed), io.SeekCurrent); err != nil {
			return err
		}
		// The levels before the values of a page of the second version are not compressed.
		levels := int64(page.Second.Definitions) + int64(page.Second.Repetitions)
		if page.Second.Definitions < 0 || page.Second.Repetitions < 0 || levels > int64(page.Packed) {
			return fmt.Errorf("its page at byte %d claims %d bytes of levels in %d", at, levels, page.Packed)
		}
		if codec == format.Uncompressed || page.Second.Packed.Valid && !page.Second.Packed.V {
			continue
		}
		if err := checkUnpacked(pages[begin+int(levels):begin+int(page.Packed)], page.Unpacked); err != nil {
			return fmt.Errorf("its page at byte %d, which claims %d bytes: %w", at, page.Unpacked, err)
		}
	}
	return nil
}

// checkUnpacked unpacks the values of a page within what it claims.
func checkUnpacked(values []byte, claim int32) error {
	if len(values) == 0 {
		return nil
	}
	unpack, err := zstd.NewReader(bytes.NewReader(values), zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(max(uint64(claim)+1, mostWindow)))
	if err != nil {
		return err
	}
	defer unpack.Close()
	switch n, err := io.Copy(io.Discard, io.LimitReader(unpack, int64(claim)+1)); {
	case n > int64(claim):
		return errors.New("it has more")
	case err != nil:
		return fmt.Errorf("it is damaged: %w", err)
	}
	return nil
}
