package manifest

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	goyaml "github.com/goccy/go-yaml"
	"go.yaml.in/yaml/v4"

	"tare/internal/application/manifest/objects"
	"tare/internal/base/strictyaml"
)

// rule is what tare makes of one key, or of a kind of object: it is read, or it has no
// effect, and why, or it is refused, and what to do.
type rule struct {
	noEffect string
	refused  string
	unless   []string // values with which it says nothing
}

// kinds is the type of which keys.yaml has kinds of objects in place of keys.
const kinds = "Kind"

//go:embed keys.yaml
var keysFile []byte

// rules are those of keys.yaml, by type and key. A key of a type with rules that has none is
// refused.
var rules = sync.OnceValue(func() map[string]map[string]rule {
	type keys = map[string][]string // of types
	var file struct {
		Read           keys            `yaml:"read"`
		Noted, Refused map[string]keys // by the reason
		Unless         map[string][]string
	}
	if err := goyaml.UnmarshalWithOptions(keysFile, &file, goyaml.Strict()); err != nil {
		panic(err) // a test reads it
	}
	all := map[string]map[string]rule{}
	add := func(of keys, r rule) {
		for name, list := range of {
			if all[name] == nil {
				all[name] = map[string]rule{}
			}
			for _, key := range list {
				r.unless = file.Unless[name+"."+key]
				all[name][key] = r
			}
		}
	}
	add(file.Read, rule{})
	for why, of := range file.Noted {
		add(of, rule{noEffect: why})
	}
	for what, of := range file.Refused {
		add(of, rule{refused: what})
	}
	return all
})

// unknown says what to do with a key of a type that has rules, and none for it.
var unknown = map[string]string{
	"Volume":       "tare has no volumes of this type: make it emptyDir, configMap, secret, persistentVolumeClaim or hostPath",
	"EnvVarSource": "its value is not known here: write value:",
}

// note is a key, or a kind of object, that has no effect.
type note struct {
	key, why string
	users    []string
}

// checker holds an object to the type that Kubernetes has for it.
type checker struct {
	*reader
	object objects.Object
	of     string // what it is, for notes
}

var decodesItself = reflect.TypeFor[json.Unmarshaler]()

// walk looks at a value, and at the keys in it.
func (c checker) walk(node *yaml.Node, t reflect.Type) {
	node = objects.Resolved(node)
	if node.Kind == yaml.ScalarNode && node.Tag == "!!null" || reflect.PointerTo(t).Implements(decodesItself) {
		return
	}
	wrong := func(want string) { c.problem(c.object, node, "expected %s", want) }
	scalar := node.Kind == yaml.ScalarNode
	switch t.Kind() {
	case reflect.Pointer:
		c.walk(node, t.Elem())
	case reflect.Struct:
		if node.Kind != yaml.MappingNode {
			wrong("a mapping (key: value)")
			return
		}
		c.keys(node, t)
	case reflect.Map:
		if node.Kind != yaml.MappingNode {
			wrong("a mapping (key: value)")
			return
		}
		for i := 0; i+1 < len(node.Content); i += 2 {
			c.walk(node.Content[i+1], t.Elem())
		}
	case reflect.Slice:
		switch {
		case t.Elem().Kind() == reflect.Uint8:
			if !scalar {
				wrong("text in base64")
			}
		case node.Kind != yaml.SequenceNode:
			wrong("a list")
		default:
			for _, item := range node.Content {
				c.walk(item, t.Elem())
			}
		}
	case reflect.String:
		if !scalar {
			wrong("text")
		} else if node.Tag != "!!str" && node.Tag != "!!timestamp" {
			c.problem(c.object, node, "expected text: put it in quotes, %q", node.Value)
		}
	case reflect.Bool:
		if !scalar || node.Tag != "!!bool" {
			wrong("true or false")
		}
	case reflect.Int, reflect.Int32, reflect.Int64:
		if !scalar || node.Tag != "!!int" {
			wrong("a whole number")
		}
	}
}

// keys looks at the keys of a mapping.
func (c checker) keys(node *yaml.Node, t reflect.Type) {
	fields := fieldsOf(t)
	known, limited := rules()[t.Name()]
	for i := 0; i+1 < len(node.Content); i += 2 {
		at, value := node.Content[i], objects.Resolved(node.Content[i+1])
		key := at.Value
		if key == "<<" {
			if value.Kind == yaml.MappingNode {
				c.keys(value, t)
			}
			continue
		}
		field, is := fields[key]
		if !is {
			text := fmt.Sprintf("%s: Kubernetes has no such key in %s", key, t.Name())
			if meant := strictyaml.Nearest(key, slices.Sorted(maps.Keys(fields))); meant != "" {
				text += fmt.Sprintf("; did you mean %q?", meant)
			}
			c.problem(c.object, at, "%s", text)
			continue
		}
		r, has := known[key]
		if limited && !has {
			r.refused = unknown[t.Name()]
			r.refused = cmp.Or(r.refused, "tare does not support it: leave it out, if the application works without")
		}
		if said := says(value, r.unless); said && r.refused != "" {
			c.problem(c.object, at, "%s: %s", key, r.refused)
		} else if said && r.noEffect != "" {
			c.note(key, r.noEffect, c.of)
		} else if said {
			c.walk(value, field)
		}
	}
}

// says reports whether a value is more than the absence of its key.
func says(node *yaml.Node, unless []string) bool {
	if node.Kind == yaml.ScalarNode {
		return node.Tag != "!!null" && (node.Tag == "!!str" || node.Value != "false") && !slices.Contains(unless, node.Value)
	}
	if node.Kind == yaml.SequenceNode && len(unless) > 0 {
		return slices.ContainsFunc(node.Content, func(item *yaml.Node) bool { return says(objects.Resolved(item), unless) })
	}
	return len(node.Content) > 0 || node.Kind == yaml.MappingNode
}

// fieldsOf are the types of the keys of a type.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && (name == "" || strings.Contains(options, "inline")):
			maps.Copy(all, fieldsOf(f.Type))
		case name != "" && name != "-":
			all[name] = f.Type
		}
	}
	return all
}
