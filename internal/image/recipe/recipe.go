// Package recipe makes the root file system of a recipe: packages of this host's
// distribution, pinned dependencies, files and commands.
//
// It must not know images from elsewhere, or the forms of an image.
package recipe

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tare/internal/base/bounded"
	"tare/internal/base/lists"
	"tare/internal/linux/beneath"
)

// recipeFormat changes whenever the same recipe results in other bytes than
// before.
const recipeFormat = 1

// Recipe describes a root file system of Debian or Ubuntu packages.
type Recipe struct {
	// Suite of the distribution; "" is the host's.
	Suite string `yaml:"suite" json:"suite,omitempty"`
	// Components are added to those of the host's sources of its distribution,
	// for this image only: contrib, non-free, universe.
	Components []string `yaml:"components" json:"components,omitempty"`
	Packages   []string `yaml:"packages" json:"packages,omitempty"`
	// Fetch are pinned dependencies that are not packages.
	Fetch []Fetch `yaml:"fetch" json:"fetch,omitempty"`
	Files []File  `yaml:"files" json:"files,omitempty"`
	// Commands are run by /bin/sh in the root file system, after the files are
	// installed; each must exit with 0.
	Commands []string `yaml:"commands" json:"commands,omitempty"`
}

// File is one file of a recipe.
type File struct {
	Path    string `yaml:"path" json:"path"`
	Mode    uint32 `yaml:"mode" json:"mode,omitempty"` // 0 is 0644
	Content string `yaml:"content" json:"content"`
	// From is a file of this machine with the content, from the directory of the file
	// that has the recipe; ReadFiles reads it.
	From string `yaml:"from" json:"-"`
}

// Merge combines several recipes into one, so that one image serves several
// workloads: all packages, dependencies and files, and the commands in order.
// Conflicts are an error: a file with different contents, two versions of a
// dependency in one directory, or two suites.
func Merge(recipes ...Recipe) (Recipe, error) {
	var merged Recipe
	files := map[string]File{}
	fetched := map[[2]string]Fetch{}
	for _, r := range recipes {
		if r.Suite != "" && merged.Suite != "" && r.Suite != merged.Suite {
			return Recipe{}, fmt.Errorf("recipes of two suites, %s and %s, cannot share an image: use separate images for the workloads", merged.Suite, r.Suite)
		}
		merged.Suite = cmp.Or(merged.Suite, r.Suite)
		merged.Components = append(merged.Components, r.Components...)
		merged.Packages = append(merged.Packages, r.Packages...)
		for _, f := range r.Fetch {
			f = f.normal()
			place := [2]string{f.To, f.what()}
			if other, twice := fetched[place]; twice && other != f {
				return Recipe{}, fmt.Errorf("two recipes have %s and %s in %s with different content: use separate images for the workloads, or different directories", other, f, f.To)
			}
			fetched[place] = f
		}
		for _, f := range r.Files {
			f = f.normal()
			if other, twice := files[f.Path]; twice && other != f {
				return Recipe{}, fmt.Errorf("two recipes want different files at %s: use separate images for the workloads, or different file names", f.Path)
			}
			files[f.Path] = f
		}
		merged.Commands = lists.Add(merged.Commands, r.Commands...)
	}
	slices.Sort(merged.Components)
	merged.Components = slices.Compact(merged.Components)
	slices.Sort(merged.Packages)
	merged.Packages = slices.Compact(merged.Packages)
	for _, f := range fetched {
		merged.Fetch = append(merged.Fetch, f)
	}
	slices.SortFunc(merged.Fetch, func(a, b Fetch) int {
		return cmp.Or(strings.Compare(a.To, b.To), strings.Compare(a.String(), b.String()))
	})
	for _, f := range files {
		merged.Files = append(merged.Files, f)
	}
	slices.SortFunc(merged.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return merged, nil
}

func (f File) normal() File {
	f.Path = path.Clean(f.Path)
	f.Mode = cmp.Or(f.Mode, 0o644)
	return f
}

// largestFile bounds a file of a recipe: recipes are part of plans.
const largestFile = 1 << 20

// ReadFiles reads the contents of the files that name one of this machine, from a
// directory.
func (r *Recipe) ReadFiles(directory string) error {
	for i, f := range r.Files {
		if f.From == "" {
			continue
		}
		if f.Content != "" {
			return fmt.Errorf("file %s has content and from; one of them", f.Path)
		}
		if !filepath.IsLocal(f.From) {
			return fmt.Errorf("file %s, from %s: it must be in the directory of the file that names it, or below: copy it there", f.Path, f.From)
		}
		data, err := readBeneath(filepath.Clean(directory), f.From)
		if err != nil {
			return fmt.Errorf("file %s, from %s: %w", f.Path, f.From, bounded.Cause(err))
		}
		if !utf8.Valid(data) {
			return fmt.Errorf("file %s, from %s: it is not text in UTF-8; what is more than a script or a configuration belongs into an image of your own (reference)", f.Path, f.From)
		}
		r.Files[i].Content, r.Files[i].From = string(data), ""
	}
	return nil
}

// readBeneath reads a regular file of a directory; a link leads no further than the
// directory.
func readBeneath(directory, name string) ([]byte, error) {
	file, err := beneath.Open(directory, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return bounded.ReadAll(file, largestFile)
}

var componentName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// Validate checks a recipe before anything is fetched.
func (r Recipe) Validate() error {
	for _, p := range r.Packages {
		if p == "" || strings.ContainsAny(p, " \t\n,;|&$`'\"()<>!?*~") || strings.HasPrefix(p, "-") || strings.HasPrefix(p, "/") || strings.HasPrefix(p, ".") {
			return fmt.Errorf("recipe: %q is not a package name: an entry is one name, optionally with =VERSION or /SUITE", p)
		}
	}
	for _, c := range r.Components {
		if !componentName.MatchString(c) {
			return fmt.Errorf("recipe: %q is not a component of a distribution: an entry is one name, such as contrib, non-free or universe", c)
		}
	}
	for _, f := range r.Fetch {
		if err := f.validate(); err != nil {
			return err
		}
	}
	for _, f := range r.Files {
		switch {
		case !path.IsAbs(f.Path) || path.Clean(f.Path) == "/":
			return fmt.Errorf("recipe: file path %q: it must be absolute, such as /etc/app.conf", f.Path)
		case f.From != "":
			return fmt.Errorf("recipe: file %s: from is for files next to a study or a pack; write its content", f.Path)
		case f.Mode > 0o7777:
			return fmt.Errorf("recipe: mode %#o of %s: permission bits only, such as 0755", f.Mode, f.Path)
		}
	}
	for i, c := range r.Commands {
		if strings.TrimSpace(c) == "" {
			return fmt.Errorf("recipe: command %d is empty", i+1)
		}
	}
	if strings.ContainsAny(r.Suite, " \t\n/") {
		return fmt.Errorf("recipe: %q is not a suite: use a release's code name, such as bookworm", r.Suite)
	}
	return nil
}

// normal returns the recipe in the normalized form by which it is cached.
func (r Recipe) normal(hostSuite string) (Recipe, error) {
	if err := r.Validate(); err != nil {
		return r, err
	}
	r, err := Merge(r)
	if err != nil {
		return r, err
	}
	r.Suite = cmp.Or(r.Suite, hostSuite)
	return r, nil
}

// key identifies a normalized recipe: the same key means the same build.
func (r Recipe) key(distribution, architecture string) string {
	text, err := json.Marshal(struct {
		Format       int
		Distribution string
		Architecture string
		Recipe       Recipe
	}{recipeFormat, distribution, architecture, r})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
