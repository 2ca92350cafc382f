package workload

import (
	"errors"
	"path"
	"regexp"
	"testing"

	"tare/internal/base/strictyaml"
	"tare/internal/testing/fuzzing"
)

var positioned = regexp.MustCompile(`^fuzz(:[0-9]+)?`)

// FuzzPack: a pack is refused with positions, or its metrics can be read from any output.
func FuzzPack(f *testing.F) {
	for _, name := range Names() {
		data, err := packs.ReadFile(path.Join("packs", name+".yaml"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data, []byte("requests: 17.5\nlatency 99% 3\n{\"a\": [1]}"))
	}
	f.Fuzz(func(t *testing.T, data, output []byte) {
		fuzzing.Allocates(t, 64<<20+uint64(len(data)+len(output))*20000, func() {
			pack, err := Decode("fuzz", data)
			var problems strictyaml.Problems
			if (pack == nil) == (err == nil) || err != nil && !positioned.MatchString(err.Error()) && !errors.As(err, &problems) {
				t.Fatalf("%v, %v", pack, err)
			}
			if err != nil {
				return
			}
			parsed, err := pack.Parse(output)
			for _, m := range pack.Metrics {
				_, there := parsed.Metrics[m.Name]
				_, missing := parsed.Missing[m.Name]
				if err == nil && m.FromOutput() && there == missing {
					t.Errorf("%s is both there and missing, or neither", m.Name)
				}
			}
		})
	})
}
