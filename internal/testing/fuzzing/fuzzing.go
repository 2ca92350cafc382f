// Package fuzzing has what fuzz targets share: documents that are changed as the
// fuzzer's bytes say, and a bound of what a reader may allocate.
//
// It must not know what the documents mean.
package fuzzing

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"runtime/metrics"
	"slices"
	"testing"
)

// values take the place of others.
var values = []any{
	nil, true, "", "x\x1b]0;t\x07\u202e\r\n| `y` <img>", "../../etc/passwd", json.Number("-1"), json.Number("0"), json.Number("1"),
	json.Number("1e308"), json.Number("1e-320"), json.Number("1e999"), json.Number("9223372036854775807"), json.Number("1099511627776"),
	[]any{}, map[string]any{}, []any{nil}, "2026-01-02T03:04:05Z", json.Number("0.5"), "1", json.Number("1000000"),
}

// edit is the size of one change: which value (2 bytes), and what becomes of it.
const edit = 3

// Changed is a JSON document with changes. Each takes three bytes: they select a
// value of the document, and another value for it, its removal, its repetition or a
// value from elsewhere in the document. A fuzzer that changes the text itself hardly
// ever gives a document again.
func Changed(t testing.TB, document, changes []byte) []byte {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var root any
	if err := decoder.Decode(&root); err != nil {
		t.Fatal(err)
	}
	for len(changes) >= edit {
		all := places(nil, root, nil)
		at, how := all[int(binary.BigEndian.Uint16(changes))%len(all)], int(changes[edit-1])
		changes = changes[edit:]
		root = changed(root, at.path, func(v any) []any {
			switch {
			case how < len(values):
				return values[how : how+1]
			case how%4 == 0:
				return []any{all[how*7%len(all)].value}
			case how%4 == 1:
				return []any{v, v}
			}
			return nil
		})
	}
	text, err := json.Marshal(root)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// place is where a value is: the keys and indices that lead to it.
type place struct {
	path  []any
	value any
}

// places lists a value and those in it, in the same order each time.
func places(all []place, v any, at []any) []place {
	all = append(all, place{slices.Clone(at), v})
	switch v := v.(type) {
	case []any:
		for i := range v {
			all = places(all, v[i], append(at, i))
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = places(all, v[key], append(at, key))
		}
	}
	return all
}

// changed is a value in which those that a function returns take the place of the one
// at a path: none, one or two. The root is one.
func changed(v any, path []any, with func(any) []any) any {
	if len(path) == 0 {
		if list := with(v); len(list) > 0 {
			return list[0]
		}
		return nil
	}
	switch v := v.(type) {
	case []any:
		i := path[0].(int)
		list := []any{changed(v[i], path[1:], with)}
		if len(path) == 1 {
			list = with(v[i])
		}
		return slices.Concat(v[:i], list, v[i+1:])
	case map[string]any:
		key := path[0].(string)
		list := []any{changed(v[key], path[1:], with)}
		if len(path) == 1 {
			list = with(v[key])
		}
		v = maps.Clone(v)
		delete(v, key)
		for i, one := range list {
			v[key+[]string{"", "2"}[i]] = one
		}
		return v
	}
	return v
}

// Allocates fails the test if a function allocates more than a number of bytes.
func Allocates(t testing.TB, most uint64, do func()) {
	t.Helper()
	before := allocated()
	do()
	if took := allocated() - before; took > most {
		t.Errorf("%d bytes were allocated, more than %d", took, most)
	}
}

// allocated is how many bytes the process has allocated so far, freed ones too.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
