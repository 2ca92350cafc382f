package model

import (
	_ "embed" // the sources
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"

	"tare/internal/base/lists"
	"tare/internal/base/visible"
)

// Citation is a file in the Citation File Format 1.2.0: what is to be cited, and its sources.
type Citation struct {
	Format     string `yaml:"cff-version"`
	Message    string `yaml:"message"`
	Reference  `yaml:",inline"`
	References []Reference `yaml:"references,omitempty"`
}

// Reference is a source to cite. Fields that its type does not have are empty.
type Reference struct {
	Type    string   `yaml:"type"`
	Title   string   `yaml:"title"`
	Authors []Author `yaml:"authors"`
	Version string   `yaml:"version,omitempty"`
	License string   `yaml:"license,omitempty"`
	Journal string   `yaml:"journal,omitempty"`
	Volume  string   `yaml:"volume,omitempty"`
	Issue   string   `yaml:"issue,omitempty"`
	Start   string   `yaml:"start,omitempty"` // the first page
	End     string   `yaml:"end,omitempty"`
	Year    int      `yaml:"year,omitempty"`
	DOI     string   `yaml:"doi,omitempty"`
}

// Author is a person, or a group with a name alone.
type Author struct {
	Name   string `yaml:"name,omitempty"`
	Family string `yaml:"family-names,omitempty"`
	Given  string `yaml:"given-names,omitempty"`
}

// Key names the source in a text.
func (r Reference) Key() string {
	if r.Software() {
		return "tare"
	}
	return strings.Join(r.Families(), "") + fmt.Sprint(r.Year)
}

// Software reports whether the source is tare.
func (r Reference) Software() bool { return r.Type == "software" }

// Families are the family names of the authors.
func (r Reference) Families() []string {
	return lists.Map(r.Authors, func(a Author) string { return a.Family })
}

//go:embed sources.cff
var sourcesFile []byte

var sources = sync.OnceValue(func() (c Citation) {
	if err := yaml.UnmarshalWithOptions(sourcesFile, &c, yaml.Strict()); err != nil {
		panic(err) // the file is part of the program
	}
	return c
})

// reference is a source by its key. That of tare has the version that made the run; when
// it was released is not recorded.
func (v *Report) reference(key string) Reference {
	if key == "tare" {
		r := sources().Reference
		r.Version = v.Manifest.Tare
		return r
	}
	return *lists.Find(sources().References, func(r *Reference) bool { return r.Key() == key })
}

// References are the sources that the methods of the run cite, each once: tare first.
func (v *Report) References() (all []Reference) {
	for _, s := range v.Methods() {
		for _, r := range s.Cites {
			if !slices.ContainsFunc(all, func(known Reference) bool { return known.Key() == r.Key() }) {
				all = append(all, r)
			}
		}
	}
	return all
}

// Citation is how to cite tare and the sources of the run.
func (v *Report) Citation() Citation {
	c, all := sources(), v.References()
	c.Reference, c.References = all[0], all[1:]
	c.Version = visible.Line(c.Version)
	return c
}
