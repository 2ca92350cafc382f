package run

import (
	"strings"
	"testing"

	"tare/internal/image"
	"tare/internal/image/recipe"
	"tare/internal/study"
)

func TestAForeignImageInNativeIsSaid(t *testing.T) {
	reference, recipe := image.Source{Reference: "example/app:1"}, image.Source{Recipe: &recipe.Recipe{}}
	native, docker := study.Environment{Name: "bare", Kind: "native"}, study.Environment{Name: "native", Kind: "docker"}
	away := study.Environment{Name: "away", Kind: "native", Host: "h"}
	for _, c := range []struct {
		image        image.Source
		environments []study.Environment
		want         string
	}{
		{reference, []study.Environment{native, docker}, "bare: the programs of image example/app:1 run as "},
		{reference, []study.Environment{docker, away}, ""},
		{recipe, []study.Environment{native}, ""},
	} {
		plan := &study.Plan{Image: c.image, Environments: c.environments}
		got := strings.Join(foreign(plan, []string{"bare", "native", "away"}), " ")
		if !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
