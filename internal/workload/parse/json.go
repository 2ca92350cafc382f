package parse

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ohler55/ojg/jp"
)

// JSON returns the numbers at the given paths of one document, and for each path at
// which nothing is the reason. A path is a JSONPath (RFC 9535) if it begins with $,
// and else a list of names and indexes with dots between them: jobs.0.read.iops.
func JSON(paths []string, stdout []byte) (fields map[string]float64, missing map[string]string, err error) {
	var document any
	if err := decode("the output is not JSON", stdout, &document); err != nil {
		return nil, nil, err
	}
	fields, missing = map[string]float64{}, map[string]string{}
	for _, path := range paths {
		found, reason, err := jsonAt(document, path)
		switch {
		case err != nil:
			return nil, nil, err
		case len(found) > 1:
			return nil, nil, fmt.Errorf("%s is %d values, first %s and then %s; make it say which one is meant", path, len(found), jsonText(found[0]), jsonText(found[1]))
		case len(found) == 0:
			missing[path] = reason
			continue
		}
		v, ok := found[0].(float64)
		if !ok {
			return nil, nil, fmt.Errorf("%s is not a number but %s", path, jsonText(found[0]))
		}
		fields[path] = v
	}
	return fields, missing, nil
}

// JSONHistogram counts the values at a path of one document: numbers, a list of
// numbers, or an object of counts, with the values as its keys. It is nil if nothing
// is there.
func JSONHistogram(path string, stdout []byte) (h Histogram, err error) {
	var document any
	if err := decode("the output is not JSON", stdout, &document); err != nil {
		return nil, err
	}
	found, _, err := jsonAt(document, path)
	if len(found) == 0 || err != nil {
		return nil, err
	}
	h = Histogram{}
	if len(found) == 1 {
		switch v := found[0].(type) {
		case map[string]any:
			for _, text := range slices.Sorted(maps.Keys(v)) {
				n, err := number(text, path)
				count, ok := v[text].(float64)
				if err != nil || !ok {
					return nil, fmt.Errorf("%s is not an object of counts by value: it has %q: %s", path, clip(text), jsonText(v[text]))
				}
				h = append(h, Bin{n, n, count})
			}
			return h, nil
		case []any:
			found = v
		default:
			if _, ok := v.(float64); !ok {
				return nil, fmt.Errorf("%s is neither numbers nor an object of counts, but %s", path, jsonText(v))
			}
		}
	}
	for _, entry := range found {
		n, ok := entry.(float64)
		if !ok {
			return nil, fmt.Errorf("%s has %s, which is not a number", path, jsonText(entry))
		}
		h = append(h, Bin{n, n, 1})
	}
	return h, nil
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

// jsonAt returns the values that a document has at a path, without null; if there are
// none, the reason says how far the path leads and what is there.
func jsonAt(document any, path string) (found []any, reason string, err error) {
	steps, err := jsonPath(path, document)
	if err != nil {
		return nil, "", err
	}
	at := func(n int) []any {
		return slices.DeleteFunc(steps[:n].Get(document), func(v any) bool { return v == nil })
	}
	if found = at(len(steps)); len(found) > 0 {
		return found, "", nil
	}
	for n := len(steps) - 1; n > 0; n-- {
		if before := at(n); len(before) > 0 {
			return nil, fmt.Sprintf("the JSON has no %s: %s is %s", path, steps[:n], jsonSort(before[0])), nil
		}
	}
	return nil, "the JSON is null", nil
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
