package fakevmm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"syscall"
)

// Decode decodes a body as the VMMs do, with serde: the absence of a field with the
// tag need is an error, and so is another value than those of the tag one. With
// strict an unknown field is an error too. The errors have serde's words and columns.
// The fields of a type are in the order of the VMM's, which the words list.
func Decode(body []byte, into any, strict bool) error {
	d := decoder{json.NewDecoder(bytes.NewReader(body)), strict}
	return d.value(reflect.ValueOf(into).Elem(), "")
}

type decoder struct {
	*json.Decoder
	strict bool
}

// failed is an error at what was read last.
func (d decoder) failed(format string, values ...any) error {
	return fmt.Errorf("%s at line 1 column %d", fmt.Sprintf(format, values...), d.InputOffset())
}

// unplaced is an error of a type's own check: serde places it where the object ends.
type unplaced struct{ error }

func (d decoder) value(v reflect.Value, tag reflect.StructTag) error {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(v.Elem(), tag)
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			break
		}
		if _, err := d.Token(); err != nil {
			return d.failed("%v", err)
		}
		for d.More() {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			if err := d.value(v.Index(v.Len()-1), ""); err != nil {
				return err
			}
		}
		_, err := d.Token()
		return err
	case reflect.Struct:
		return d.object(v)
	}
	var given any
	if err := d.Decode(&given); err != nil {
		return d.failed("%v", err)
	}
	data, err := json.Marshal(given)
	if err == nil {
		err = json.Unmarshal(data, v.Addr().Interface())
	}
	if allowed := strings.Fields(tag.Get("one")); err == nil && len(allowed) > 0 && !slices.Contains(allowed, v.String()) {
		return d.failed("unknown variant `%s`, expected %s", v, list(allowed))
	}
	if checked, ok := v.Addr().Interface().(interface{ Check() error }); ok && err == nil {
		if err := checked.Check(); err != nil {
			return unplaced{err}
		}
	}
	if err != nil {
		return d.failed("invalid type: %s, expected %s", described(given), map[reflect.Kind]string{
			reflect.Bool: "a boolean", reflect.String: "a string"}[v.Kind()])
	}
	return nil
}

// described is a value in serde's words.
func described(given any) string {
	switch given := given.(type) {
	case string:
		return fmt.Sprintf("string %q", given)
	case bool:
		return fmt.Sprintf("boolean `%v`", given)
	case float64:
		return fmt.Sprintf("integer `%v`", given)
	}
	return fmt.Sprint(given)
}

// object decodes an object into a struct.
func (d decoder) object(v reflect.Value) error {
	if _, err := d.Token(); err != nil {
		return d.failed("%v", err)
	}
	var names []string
	for field := range v.Type().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	given := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return d.failed("%v", err)
		}
		name := fmt.Sprint(key)
		at := slices.Index(names, name)
		switch {
		case at >= 0:
			given[name] = true
			err = d.value(v.Field(at), v.Type().Field(at).Tag)
		case d.strict:
			err = d.failed("unknown field `%s`, expected %s", name, list(names))
		default:
			err = d.Decode(new(json.RawMessage))
		}
		if un := (unplaced{}); errors.As(err, &un) {
			_, _ = d.Token() // the object's end, if this was its last field
			return d.failed("%v", un.error)
		}
		if err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return d.failed("%v", err)
	}
	for i, name := range names {
		if v.Type().Field(i).Tag.Get("need") != "" && !given[name] {
			return d.failed("missing field `%s`", name)
		}
	}
	return nil
}

// list lists names as serde does.
func list(names []string) string {
	switch len(names) {
	case 1:
		return "`" + names[0] + "`"
	case 2:
		return "`" + names[0] + "` or `" + names[1] + "`"
	}
	return "one of `" + strings.Join(names, "`, `") + "`"
}

// SystemError is the text of a system call's error in Rust's words.
func SystemError(err error) string {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return err.Error()
	}
	text := number.Error()
	return fmt.Sprintf("%s%s (os error %d)", strings.ToUpper(text[:1]), text[1:], int(number))
}
