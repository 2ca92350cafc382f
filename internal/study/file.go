package study

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/image/recipe"
	"tare/internal/usage/cost"
	"tare/internal/workload"
	"tare/studies"
)

// File is the text of a study, not yet parsed.
type File struct {
	Origin    string // the path, or built-in:NAME
	Name      string // safe for a directory
	Source    []byte
	directory string // that the paths of packs are relative to
	// packs that come from no file, by the name that the study uses.
	packs map[string]*workload.Pack
}

// With returns the file with a pack that the study can use by its name.
func (f File) With(pack *workload.Pack) *File {
	f.packs = maps.Clone(f.packs)
	if f.packs == nil {
		f.packs = map[string]*workload.Pack{}
	}
	f.packs[pack.Name] = pack
	return &f
}

// document is the structure of a study file. Sections that need the registry, the
// packs or the order of their keys are kept as nodes and decoded later.
type document struct {
	Study        string          `yaml:"study"`
	Baseline     string          `yaml:"baseline"`
	Limits       limitsSection   `yaml:"limits"`
	Hosts        section         `yaml:"hosts"`
	Nodes        nodesSection    `yaml:"nodes"`
	Parallel     *int            `yaml:"parallel"`
	Secret       section         `yaml:"secret"`
	Mounts       section         `yaml:"mounts"`
	Inputs       section         `yaml:"inputs"`
	Environments section         `yaml:"environments"`
	Image        imageSection    `yaml:"image"`
	Workloads    section         `yaml:"workloads"`
	Price        *cost.Price     `yaml:"price"`
	Accept       []string        `yaml:"accept"`
	Sampling     samplingSection `yaml:"sampling"`
	Design       *designSection  `yaml:"design"`
	Scales       section         `yaml:"scales"`
}

type limitsSection struct {
	CPUs   float64        `yaml:"cpus"`
	Memory quantity.Bytes `yaml:"memory"`
	PIDs   int            `yaml:"pids"`
	IO     environment.IO `yaml:"io"`
	Pin    pinSection     `yaml:"pin"`
}

// pinSection is the cores of roles, or one of the words auto and none.
type pinSection struct {
	word  string
	roles map[string][]int
}

// DecodeNode reads a word or a mapping.
func (p *pinSection) DecodeNode(n strictyaml.Node) {
	if p.word, _ = n.Scalar(); p.word == "" {
		n.Decode(&p.roles)
	} else if p.word != "auto" && p.word != "none" {
		n.Problemf("pin: %s, or a list of cores for each role", strictyaml.Unknown("word", p.word, []string{"auto", "none"}))
	}
}

// imageSection is either an OCI reference, or what is added to the packs' own
// recipes.
type imageSection struct {
	Reference     string `yaml:"reference"`
	recipe.Recipe `yaml:",inline"`
}

// section is a node that is decoded later.
type section struct{ strictyaml.Node }

// DecodeNode keeps the node.
func (s *section) DecodeNode(n strictyaml.Node) { s.Node = n }

// Names lists the built-in studies.
func Names() []string { return strictyaml.Names(studies.Files, ".") }

// Title of a study, without the rest of its plan.
func Title(name string) (string, error) {
	file, err := Load(name)
	if err != nil {
		return "", err
	}
	root, err := strictyaml.Parse(file.Origin, file.Source, new(strictyaml.Problems))
	if err != nil {
		return "", err
	}
	title, _ := root.At("study").Scalar()
	return title, nil
}

// Load finds a study: a built-in name, or else a path. A path with a slash or
// with .yaml at its end is never taken for a name.
func Load(pathOrName string) (*File, error) {
	isPath := strictyaml.IsPath(pathOrName)
	if !isPath {
		if source, err := studies.Files.ReadFile(pathOrName + ".yaml"); err == nil {
			return &File{Origin: "built-in:" + pathOrName, Name: pathOrName, Source: source}, nil
		}
	}
	source, err := bounded.ReadFile(pathOrName, strictyaml.MaxSize)
	switch {
	case err == nil:
	case !isPath && os.IsNotExist(err):
		return nil, fmt.Errorf("%s; to use a file, give its path, such as ./%s.yaml",
			strictyaml.Unknown("study", pathOrName, Names()), pathOrName)
	default:
		return nil, fmt.Errorf("study file %s: %w", pathOrName, bounded.Cause(err))
	}
	base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(pathOrName), ".yaml"), ".yml")
	return &File{Origin: pathOrName, Name: DirectoryName(base, "study"), Source: source, directory: filepath.Dir(pathOrName)}, nil
}

// DirectoryName makes a name that is safe for a directory, of the letters and digits of a
// text; where it has none, another one.
func DirectoryName(text, otherwise string) string {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
	})
	return cmp.Or(strings.Join(words, "-"), otherwise)
}

// Open loads a study and resolves it.
func Open(pathOrName string, over Overrides) (*Plan, error) {
	file, err := Load(pathOrName)
	if err != nil {
		return nil, err
	}
	return Resolve(file, over)
}
