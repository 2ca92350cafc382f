package score

import (
	"errors"
	"math"
	"testing"

	"tare/internal/base/strictyaml"
	"tare/internal/testing/fuzzing"
	"tare/profiles"
)

// FuzzProfile: a profile is refused with positions, or every figure has a score.
func FuzzProfile(f *testing.F) {
	for _, name := range Names() {
		data, err := profiles.Files.ReadFile(name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fuzzing.Allocates(t, 64<<20+uint64(len(data))*20000, func() {
			p, err := Load("fuzz", "fuzz.yaml", data)
			var problems strictyaml.Problems
			if (p == nil) == (err == nil) || err != nil && !errors.As(err, &problems) {
				t.Fatalf("%v, %v", p, err)
			}
			if err != nil {
				return
			}
			for _, feature := range p.Features {
				if !(feature.Weight >= 0) || math.IsInf(feature.Weight, 0) {
					t.Errorf("the weight of %s is %v", feature.Name, feature.Weight)
				}
			}
		})
	})
}
