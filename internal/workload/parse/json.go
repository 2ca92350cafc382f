package parse

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ohler55/ojg/jp"

	"tare/internal/base/failing"
)

// JSON returns the numbers at the given paths of one document, and for each path at
// which nothing is the reason. A path is a JSONPath (RFC 9535) if it begins with $,
// and else a list of names and indexes with dots between them: jobs.0.read.iops.
func JSON(paths []string, stdout []byte) (fields map[string]float64, missing map[string]string, err error) {
	fields, missing = map[string]float64{}, map[string]string{}
	err = failing.Caught(func() {
		document := documentOf(stdout)
		first := firstOf(json.NewDecoder(bytes.NewReader(stdout)))
		for _, path := range paths {
			switch found := valuesAt(document, path); len(found) {
			case 0:
				missing[path] = whyNothing(document, path)
			case 1:
				if others := valuesAt(first, path); len(others) != 1 || !reflect.DeepEqual(others[0], found[0]) {
					fail("a key of %s occurs twice, with %s and with %s: which one is meant is not known", path, someOf(others), jsonText(found[0]))
				}
				fields[path] = numberAt(path, found[0])
			default:
				fail("%s is %d values, first %s and then %s; make it say which one is meant", path, len(found), jsonText(found[0]), jsonText(found[1]))
			}
		}
	})
	return fields, missing, err
}

func documentOf(stdout []byte) (document any) {
	decode("the output is not JSON", stdout, lines(stdout), &document)
	return document
}

// firstOf is a document that is valid JSON, in which the first of several values of a key
// counts, as the last one does for encoding/json.
func firstOf(decoder *json.Decoder) any {
	switch token := failing.Must(decoder.Token()); token {
	case json.Delim('{'):
		object := map[string]any{}
		for decoder.More() {
			key := failing.Must(decoder.Token()).(string)
			value := firstOf(decoder)
			if _, twice := object[key]; !twice {
				object[key] = value
			}
		}
		failing.Must(decoder.Token())
		return object
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			list = append(list, firstOf(decoder))
		}
		failing.Must(decoder.Token())
		return list
	default:
		return token
	}
}

// someOf is the first of some values, for a message.
func someOf(values []any) string {
	if len(values) == 0 {
		return "none"
	}
	return jsonText(values[0])
}

// numberAt is a value of a document that has to be a number.
func numberAt(what string, value any) float64 {
	v, is := value.(float64)
	if !is {
		fail("%s is not a number but %s", what, jsonText(value))
	}
	return v
}

// JSONHistogram counts the values at a path of one document: numbers, a list of
// numbers, or an object of counts, with the values as its keys. It is nil if nothing
// is there.
func JSONHistogram(path string, stdout []byte) (h Histogram, err error) {
	err = failing.Caught(func() {
		found := valuesAt(documentOf(stdout), path)
		if len(found) == 0 {
			return
		}
		h = Histogram{}
		if len(found) == 1 {
			switch v := found[0].(type) {
			case map[string]any:
				h = histogramAt(path, v)
				return
			case []any:
				found = v
			case float64:
			default:
				fail("%s is neither numbers nor an object of counts, but %s", path, jsonText(v))
			}
		}
		for _, entry := range found {
			n, ok := entry.(float64)
			if !ok {
				fail("%s has %s, which is not a number", path, jsonText(entry))
			}
			h = append(h, Bin{n, n, 1})
		}
	})
	return h, err
}

// histogramAt is an object of counts by value.
func histogramAt(path string, counts map[string]any) (h Histogram) {
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		n, err := strconv.ParseFloat(text, 64)
		count, ok := counts[text].(float64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || !ok {
			fail("%s is not an object of counts by value: it has %q: %s", path, clip(text), jsonText(counts[text]))
		}
		h = append(h, Bin{n, n, count})
	}
	return h
}

// CheckPath returns what is wrong with a path for JSON.
func CheckPath(path string) error {
	_, err := jsonPath(path, nil)
	return err
}

func jsonPath(path string, document any) (jp.Expr, error) {
	if strings.HasPrefix(path, "$") {
		steps, err := jp.ParseString(path)
		if err != nil {
			return nil, fmt.Errorf("%q is not a JSONPath such as $.latency['p(99)'] or $.jobs[?@.name == 'read'].iops: %w", clip(path), err)
		}
		return steps, nil
	}
	steps := jp.R()
	for _, step := range strings.Split(path, ".") {
		list, _ := steps.First(document).([]any)
		if i, err := strconv.Atoi(step); err == nil && i >= 0 && list != nil {
			steps = steps.N(i)
		} else {
			steps = steps.C(step)
		}
	}
	return steps, nil
}

// valuesAt returns the values that a document has at a path, without null.
func valuesAt(document any, path string) []any {
	steps, err := jsonPath(path, document)
	if err != nil {
		fail("%w", err)
	}
	return allAt(document, steps)
}

func allAt(document any, steps jp.Expr) []any {
	return slices.DeleteFunc(steps.Get(document), func(v any) bool { return v == nil })
}

// whyNothing says how far a path without values leads, and what is there.
func whyNothing(document any, path string) string {
	steps, _ := jsonPath(path, document)
	for n := len(steps) - 1; n > 0; n-- {
		if before := allAt(document, steps[:n]); len(before) > 0 {
			return fmt.Sprintf("the JSON has no %s: %s is %s", path, steps[:n], jsonSort(before[0]))
		}
	}
	return "the JSON is null"
}

// jsonSort says what kind of value it is, and what is in it.
func jsonSort(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return "an object with " + some(slices.Sorted(maps.Keys(v)))
	case []any:
		return fmt.Sprintf("a list of %d entries", len(v))
	}
	return jsonText(value)
}

// jsonText is a value of a document, for a message.
func jsonText(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(clip(v))
	case map[string]any, []any:
		return jsonSort(v)
	}
	return clip(fmt.Sprint(v))
}
