package compose

import (
	_ "embed"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/tree"
	"github.com/goccy/go-yaml"

	"tare/internal/application"
)

// key is what tare makes of one key of a service. A key without a row is asked of the
// environment: a new key of Compose does not pass unnoticed.
type key struct {
	path   string // below services.NAME
	what   kind
	why    string   // of noted and refused ones
	unless []string // of asked ones: values that matter to nobody
}

type kind int

const (
	read    kind = iota // into the Service
	asked               // of the environment
	noted               // it has no effect, and why
	refused             // tare does not do it, and what to do
)

// oneNet is why networks have no effect.
const oneNet = "all services of an application are on one private network"

//go:embed keys.yaml
var keysFile []byte

// keys are those of keys.yaml, sorted.
var keys = sync.OnceValue(func() (all []key) {
	var file struct {
		Read           []string            `yaml:"read"`
		Noted, Refused map[string][]string // the keys, by why
		Asked          map[string][]string // values, by the key
	}
	if err := yaml.UnmarshalWithOptions(keysFile, &file, yaml.Strict()); err != nil {
		panic(err) // a test reads it
	}
	add := func(what kind, why string, paths ...string) {
		for _, path := range paths {
			all = append(all, key{path: path, what: what, why: why, unless: file.Asked[path]})
		}
	}
	file.Asked["platform"] = []string{"linux/" + runtime.GOARCH}
	add(read, "", file.Read...)
	add(asked, "", slices.Collect(maps.Keys(file.Asked))...)
	for what, reasons := range map[kind]map[string][]string{noted: file.Noted, refused: file.Refused} {
		for why, paths := range reasons {
			add(what, why, paths...)
		}
	}
	slices.SortFunc(all, func(a, b key) int { return strings.Compare(a.path, b.path) })
	return all
})

const services = "services.*."

// patterns make the library report each key whose value matters, and look no deeper.
func patterns() (all []loader.UnsupportedAttributePattern) {
	for _, k := range keys() {
		all = append(all, loader.UnsupportedAttributePattern{Path: tree.Path(services + k.path), Detect: k.matters})
	}
	return all
}

func (k key) matters(v any) bool {
	switch k.what {
	case read:
		return false
	case asked:
		return slices.ContainsFunc(words(v), func(word string) bool { return !slices.Contains(k.unless, word) })
	}
	return set(v)
}

// supported are the keys with a row, and all outside of services. The library reports
// others, and what they hold.
func supported() []tree.Path {
	all := []tree.Path{"name", "version", "include"}
	for _, k := range keys() {
		all = append(all, tree.Path(services+k.path))
	}
	return all
}

// set says whether a value is more than the absence of the key.
func set(v any) bool {
	switch v := v.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != "" && v != "no" && v != "false"
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	return true
}

// ask is the row of a key that was found, and what it asks. The service is "" where the
// key is of none.
func ask(found loader.UnsupportedAttribute) (service string, k key, one application.Ask) {
	parts := strings.SplitN(found.Path.String(), ".", 3)
	if len(parts) < 3 || parts[0] != "services" {
		return "", key{}, application.Ask{}
	}
	k = key{path: parts[2], what: asked}
	for _, row := range keys() {
		if found.Path.Matches(tree.Path(services + row.path)) {
			k = row
		}
	}
	if k.what == asked && !set(found.Value) {
		k.what = read
	}
	return parts[1], k, application.Ask{Key: strings.ReplaceAll(parts[2], ".[]", ""), What: said(found.Value)}
}

// said is a value in one line.
func said(v any) string {
	var all []string
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			all = append(all, said(one))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			all = append(all, name+"="+said(v[name]))
		}
	default:
		return fmt.Sprint(v)
	}
	return strings.Join(all, ", ")
}
