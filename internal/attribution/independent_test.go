package attribution

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"tare/internal/environment"
	"tare/internal/study"
)

// A kind declares its parts in its registration: this package and the analysis
// neither import a package of a kind nor compare with the name of one.
func TestNoKindIsKnownByName(t *testing.T) {
	kinds := environment.Kinds() // those that the tests of this package link in
	if len(kinds) < 8 {
		t.Fatalf("only %q are registered", kinds)
	}
	var files []string
	for _, pattern := range []string{"*.go", "analysis/*.go"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, text, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range parsed.Imports {
			if strings.Contains(spec.Path.Value, "tare/internal/environment/") {
				t.Errorf("%s imports %s", file, spec.Path.Value)
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			value, _ := strconv.Unquote(literal.Value)
			words := strings.FieldsFunc(value, func(r rune) bool { return !(r == '-' || 'a' <= r && r <= 'z') })
			for _, kind := range kinds {
				if slices.Contains(words, kind) {
					t.Errorf("%s names the kind %s: %q", set.Position(literal.Pos()), kind, value)
				}
			}
			return true
		})
	}
}

// jail is a kind that no other package knows. It crosses to bench, a kind with two
// parts.
type jail struct {
	Door string `json:"door"`
	Lock bool   `json:"lock"`
	Sign string `json:"sign,omitempty"`
}

type bench struct {
	Wall string `json:"wall"`
	Bars bool   `json:"bars"`
}

func init() {
	environment.Register(environment.Registration{
		Kind:     "made-up-bench",
		Options:  func() any { return &bench{Wall: "none"} },
		Requires: func(any) []environment.Requirement { return nil },
		Parts: environment.Parts{
			Switches: []environment.Switch{
				{Option: "bars", Name: "iron bars"},
				{Option: "wall", Ways: [][]string{{"none", "wood", "brick"}}, Values: map[string]environment.Value{"brick": {Name: "brick wall", Effect: "nothing is heard"}}},
			},
			Cross: func(options, _ any) (environment.Crossing, error) {
				return environment.Crossing{Kind: "made-up-bench", Options: options}, nil
			},
		},
	})
	environment.Register(environment.Registration{
		Kind:     "made-up-jail",
		Options:  func() any { return &jail{Door: "wood"} },
		Requires: func(any) []environment.Requirement { return nil },
		Parts: environment.Parts{
			Switches: []environment.Switch{{Option: "lock", Name: "lock of the door"}},
			Cross: func(options, _ any) (environment.Crossing, error) {
				o := *options.(*jail)
				same := &bench{Wall: "brick", Bars: o.Lock}
				o.Sign = ""
				return environment.Crossing{Kind: "made-up-bench", Options: same, Closest: &o,
					Leave: Part{Key: "opened", Name: "open jail", Group: "jail", About: "the jail is opened"},
					Enter: Part{Name: "jailer", Group: "jail", About: "a jailer is employed"},
					Notes: []string{"the jailer's keys are no part"}}, nil
			},
		},
	})
}

func TestAKindBringsItsOwnParts(t *testing.T) {
	from := study.Environment{Name: "a", Kind: "made-up-bench", Options: []byte(`{"wall": "none"}`)}
	to := study.Environment{Name: "b", Kind: "made-up-jail", Options: []byte(`{"door": "wood", "lock": true, "sign": "keep out"}`)}
	l, err := Build(from, to, BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := keysOf(l.Parts), []string{"bars", "wall.wood", "wall.brick", "rest", "sign"}; !slices.Equal(got, want) {
		t.Errorf("the parts are %q, want %q", got, want)
	}
	var names []string
	for _, p := range l.Parts {
		names = append(names, p.Name)
	}
	if want := []string{"iron bars", "change of wall to wood", "brick wall", "jailer", "change of sign to keep out"}; !slices.Equal(names, want) {
		t.Errorf("the names are %q, want %q", names, want)
	}
	if about := l.Parts[2].About; about != "nothing is heard (wall: wood → brick)" {
		t.Errorf("about the wall: %q", about)
	}
	if !slices.Equal(l.Notes, []string{"the jailer's keys are no part"}) {
		t.Errorf("the notes are %q", l.Notes)
	}
	back, err := Build(to, from, BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := keysOf(back.Parts), []string{"sign", "opened", "bars", "wall.wood", "wall.none"}; !slices.Equal(got, want) {
		t.Errorf("the parts of the way back are %q, want %q", got, want)
	}
	// To a kind without the intermediate kind it is one step.
	direct, err := Build(to, of(t, "c", "qemu"), BuildOptions{})
	if err != nil || !slices.Contains(keysOf(direct.Parts), "vm") {
		t.Errorf("%v, %q", err, keysOf(direct.Parts))
	}
}
