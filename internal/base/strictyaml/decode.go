package strictyaml

import (
	"encoding"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Decoder is implemented by types that decode themselves from a node.
type Decoder interface{ DecodeNode(Node) }

// Decode fills the value that into points to. The keys of structs are their yaml
// tags, or else their json tags. What the document leaves out keeps its value. Keys
// in reserved are ignored.
func (n Node) Decode(into any, reserved ...string) {
	n.decode(reflect.ValueOf(into).Elem(), reserved, 0)
}

var (
	durationType = reflect.TypeFor[time.Duration]()
	decoderType  = reflect.TypeFor[Decoder]()
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
)

func (n Node) decode(v reflect.Value, reserved []string, depth int) {
	if !n.step() {
		return
	}
	if depth > 64 {
		n.Problemf("nested too deeply; does an alias contain itself?")
		return
	}
	if n.value() == nil {
		n.Problemf("%s", n.describe())
		return
	}
	if v.Kind() == reflect.Pointer {
		if n.IsNull() {
			return
		}
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		n.decode(v.Elem(), reserved, depth+1)
		return
	}
	pointer := v.Addr().Type()
	switch {
	case pointer.Implements(decoderType):
		v.Addr().Interface().(Decoder).DecodeNode(n)
	case v.Type() == durationType:
		n.duration(v)
	case pointer.Implements(textType):
		if text, ok := n.scalar("a plain value"); ok {
			if err := v.Addr().Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text)); err != nil {
				n.Problemf("%s", err)
			}
		}
	default:
		n.decodeKind(v, reserved, depth)
	}
}

func (n Node) decodeKind(v reflect.Value, reserved []string, depth int) {
	switch v.Kind() {
	case reflect.Struct:
		fields := fieldsOf(v.Type())
		all := n.Pairs()
		for _, p := range all {
			if slices.Contains(reserved, p.Key) {
				continue
			}
			i := slices.IndexFunc(fields, func(f field) bool { return f.key == p.Key })
			if first, inner, is := p.Value.nested(p.Key, all); i < 0 && is {
				if i = slices.IndexFunc(fields, func(f field) bool { return f.key == first }); i >= 0 {
					p.Value = inner
				}
			}
			if i < 0 {
				p.Value.ProblemAtKey("%s", Unknown("key", p.Key, append(Keys(v.Type()), reserved...)))
				continue
			}
			if !p.Value.IsNull() {
				p.Value.decode(v.FieldByIndex(fields[i].index), nil, depth+1)
			}
		}
	case reflect.Map:
		pairs := n.Pairs()
		if v.IsNil() && pairs != nil {
			v.Set(reflect.MakeMap(v.Type()))
		}
		for _, p := range pairs {
			element := reflect.New(v.Type().Elem()).Elem()
			p.Value.decode(element, nil, depth+1)
			v.SetMapIndex(reflect.ValueOf(p.Key).Convert(v.Type().Key()), element)
		}
	case reflect.Slice:
		items := n.Items()
		v.Set(reflect.MakeSlice(v.Type(), len(items), len(items)))
		for i, item := range items {
			item.decode(v.Index(i), nil, depth+1)
		}
	case reflect.String:
		if text, ok := n.scalar("text"); ok {
			v.SetString(text)
		}
	case reflect.Bool:
		if text, ok := n.scalar("true or false"); ok {
			switch text {
			case "true", "false":
				v.SetBool(text == "true")
			default:
				n.Problemf("expected true or false, found %q", text)
			}
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if text, ok := n.scalar("a whole number"); ok {
			number, err := strconv.ParseInt(text, 0, v.Type().Bits())
			if err != nil {
				n.Problemf("expected a whole number, found %q", text)
			}
			v.SetInt(number)
		}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		if text, ok := n.scalar("a whole number"); ok {
			number, err := strconv.ParseUint(text, 0, v.Type().Bits())
			if err != nil {
				n.Problemf("expected a whole number that is not negative, found %q", text)
			}
			v.SetUint(number)
		}
	case reflect.Float32, reflect.Float64:
		if text, ok := n.scalar("a number"); ok {
			number, err := strconv.ParseFloat(text, 64)
			if err != nil {
				n.Problemf("expected a number, found %q", text)
			}
			v.SetFloat(number)
		}
	default:
		panic("strictyaml: cannot decode into " + v.Type().String())
	}
}

func (n Node) scalar(what string) (string, bool) {
	text, ok := n.Scalar()
	switch {
	case !ok:
		n.mistypedf("expected %s, found %s", what, n.describe())
	case strings.ContainsRune(text, 0): // no path, argument or variable can have one
		n.Problemf("a value has a NUL character")
	}
	return text, ok
}

func (n Node) duration(v reflect.Value) {
	text, ok := n.scalar("a duration such as 30s, 5m or 1h30m")
	if !ok {
		return
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		n.Problemf("%q is not a duration: write a number with ms, s, m or h, such as 30s or 5m", text)
		return
	}
	v.SetInt(int64(d))
}

type field struct {
	key   string
	index []int
}

func fieldsOf(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		key, options, tagged := strings.Cut(f.Tag.Get("yaml"), ",")
		if f.Tag.Get("yaml") == "" {
			key, _, _ = strings.Cut(f.Tag.Get("json"), ",")
		}
		switch {
		case key == "-" || !f.IsExported() && !f.Anonymous:
		case tagged && strings.Contains(options, "inline"), f.Anonymous && key == "":
			for _, inner := range fieldsOf(f.Type) {
				fields = append(fields, field{inner.key, append([]int{i}, inner.index...)})
			}
		default:
			if key == "" {
				key = strings.ToLower(f.Name)
			}
			fields = append(fields, field{key, []int{i}})
		}
	}
	return fields
}

// Keys lists the keys that Decode accepts for a struct type.
func Keys(t reflect.Type) []string {
	var keys []string
	for _, f := range fieldsOf(t) {
		keys = append(keys, f.key)
	}
	return keys
}
