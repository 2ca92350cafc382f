package strictyaml

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEachValueThatIsStillToWriteIsNamedWithItsAdvice(t *testing.T) {
	for text, want := range map[string]string{
		"use: TODO # TODO: what drives it\nport: TODO\nlist: [a, TODO] # TODO: more\n": "f.yaml:1:6: still TODO: what drives it\nf.yaml:2:7: still TODO: write the value\nf.yaml:3:11: still TODO: more",
		"list:\n  - a\n  - TODO # TODO: the rest: all of it\n":                         "f.yaml:3:5: still TODO: the rest: all of it",
		"use: nginx # TODO: another one\n":                                             "",
		"TODO: a\ntitle: \"TODO\"\nother: 'TODO'\nrun: |-\n  TODO\nmore: TODO list\n":  "",
	} {
		got := ""
		if err := Unfinished("f.yaml", []byte(text)); err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\n%s", text, diff)
		}
	}
}
