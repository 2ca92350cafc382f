package image

import (
	"strings"
	"testing"
)

func TestImagesWithTheSameFilesAndOtherVariablesHaveNamesOfTheirOwn(t *testing.T) {
	digest := "sha256:" + strings.Repeat("12ab", 16)
	plain := "localhost/tare:" + strings.Repeat("12ab", 16)
	names := map[string]bool{plain: true}
	for _, i := range []*Image{
		{Name: "app:1", Digest: digest, Env: []string{"A=b"}},
		{Name: "app:2", Digest: digest, Env: []string{"A=b"}, Dir: "/srv"},
		{Name: "app:3", Digest: digest, Env: []string{"A=c"}},
	} {
		name := i.EngineName()
		if names[name] || !strings.HasPrefix(name, plain+"-") {
			t.Errorf("%s is %s", i.Name, name)
		}
		names[name] = true
	}
	for _, i := range []*Image{{Name: "recipe 123456", Digest: digest, Env: []string{"A=b"}}, {Name: "app:4", Digest: digest}} {
		if i.EngineName() != plain {
			t.Errorf("%s is %s", i.Name, i.EngineName())
		}
	}
}
