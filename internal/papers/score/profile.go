package score

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/profiles"
)

// Profile is an evaluation profile: which features count, by how much, and
// what score a figure is worth. Load fills in every default.
type Profile struct {
	Name  string `yaml:"-" json:"name"` // of the file, without .yaml
	Title string `yaml:"profile" json:"profile"`
	About string `yaml:"about" json:"about,omitempty"`
	// Importance is the weight of each degree of importance that features name.
	Importance map[string]float64 `yaml:"importance" json:"importance,omitempty"`
	// Total: whether the sums of all groups are added up. The default is true.
	Total    *bool     `yaml:"total" json:"total"`
	Features []Feature `yaml:"features" json:"features"`
}

// Feature is one thing that is rated. Its score is the number of thresholds
// that the ratio to the baseline meets: 0 where it does not meet the first.
type Feature struct {
	Name       string `yaml:"name" json:"name"`
	Group      string `yaml:"group" json:"group,omitempty"`
	Importance string `yaml:"importance" json:"importance,omitempty"`
	// Weight is that of the importance unless the feature has its own; 1 where
	// it has neither.
	Weight float64 `yaml:"weight" json:"weight"`

	Workload string `yaml:"workload" json:"workload"`
	Metric   string `yaml:"metric" json:"metric"`
	Level    string `yaml:"level" json:"level,omitempty"` // a pattern in which * matches any text; every level if empty
	Combine  string `yaml:"combine" json:"combine"`       // of several levels: mean, geometric or worst

	// AtLeast rises, AtMost falls; a feature has one of them.
	AtLeast []quantity.Share `yaml:"at_least" json:"at_least,omitempty"`
	AtMost  []quantity.Share `yaml:"at_most" json:"at_most,omitempty"`
	// Minimum is the least acceptable score; 0 if every score is.
	Minimum int `yaml:"minimum" json:"minimum,omitempty"`
	// Judged is what people judge in place of a workload's metric; nil for a measured feature.
	Judged *Judged `yaml:"judged" json:"judged,omitempty"`
}

// How the figures of several levels are combined.
const (
	Mean      = "mean"      // the mean of the values over the mean of the baseline's
	Geometric = "geometric" // the geometric mean of the ratios: every level counts alike
	Worst     = "worst"     // the level that is worst
)

var combinations = []string{Mean, Geometric, Worst}

// HasTotal reports whether there is a sum of all features.
func (p *Profile) HasTotal() bool { return p.Total == nil || *p.Total }

// Groups are the groups in the order in which features name them; features
// without one are in the total alone.
func (p *Profile) Groups() []string {
	var groups []string
	for _, f := range p.Features {
		if f.Group != "" && !slices.Contains(groups, f.Group) {
			groups = append(groups, f.Group)
		}
	}
	return groups
}

// Names are those of the built-in profiles.
func Names() []string {
	return strictyaml.Names(profiles.Files, ".")
}

// Builtin is the built-in profile of this name.
func Builtin(name string) (*Profile, error) {
	data, err := profiles.Files.ReadFile(name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("%s; to use a file, give its path, such as ./profile.yaml", strictyaml.Unknown("profile", name, Names()))
	}
	return Load(name, name+".yaml", data)
}

// Load reads a profile. The error lists everything that is wrong with it, with
// positions in the file.
func Load(name, file string, data []byte) (*Profile, error) {
	var problems strictyaml.Problems
	root, err := strictyaml.Parse(file, data, &problems)
	if err != nil {
		return nil, err
	}
	p := &Profile{Name: name}
	root.Decode(p)
	p.check(root)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Profile) check(root strictyaml.Node) {
	if p.Title == "" {
		root.Problemf("the profile has no title: profile: what it is for")
	}
	for word, weight := range p.Importance {
		if !usable(weight) {
			root.At("importance", word).Problemf("%s: a weight is a number of at least 0", word)
		}
	}
	if len(p.Features) == 0 {
		root.At("features").Problemf("the profile has no features")
	}
	if p.Total != nil && !*p.Total && len(p.Groups()) == 0 && len(p.Features) > 0 {
		root.At("total").Problemf("without a total, features need a group; otherwise nothing is summed")
	}
	names, judged := map[string]bool{}, map[string]bool{}
	for i := range p.Features {
		f, node := &p.Features[i], root.At("features", i)
		if names[f.Name] {
			node.At("name").Problemf("duplicate feature %q", f.Name)
		}
		names[f.Name] = true
		p.weigh(f, node)
		f.check(node)
		if other, known := judged[f.Group]; known && other != (f.Judged != nil) && f.Group != "" {
			node.Problemf("the group %s has measured and judged features: a sum of both says neither; give the judged ones a group of their own", f.Group)
		}
		judged[f.Group] = f.Judged != nil
	}
}

// weigh fills in the weight.
func (p *Profile) weigh(f *Feature, node strictyaml.Node) {
	weight := 1.0
	if f.Importance != "" && len(p.Importance) > 0 {
		known, ok := p.Importance[f.Importance]
		if !ok {
			words := slices.Sorted(maps.Keys(p.Importance))
			node.At("importance").Problemf("%s", strictyaml.Unknown("importance", f.Importance, words))
		}
		weight = known
	}
	if own, given := node.Get("weight"); !given {
		f.Weight = weight
	} else if !usable(f.Weight) {
		own.Problemf("a weight is a number of at least 0")
	}
}

func usable(weight float64) bool { return weight >= 0 && !math.IsInf(weight, 1) }

func (f *Feature) check(node strictyaml.Node) {
	if f.Judged != nil {
		if f.Name == "" {
			node.Problemf("the feature has no name")
		}
		f.Judged.check(f, node)
		f.checkMinimum(node)
		return
	}
	for _, needed := range [][2]string{{"name", f.Name}, {"workload", f.Workload}, {"metric", f.Metric}} {
		if needed[1] == "" {
			node.Problemf("the feature has no %s", needed[0])
		}
	}
	if f.Combine == "" {
		f.Combine = Mean
	} else if !slices.Contains(combinations, f.Combine) {
		node.At("combine").Problemf("%s", strictyaml.Unknown("way to combine levels", f.Combine, combinations))
	}
	if (len(f.AtLeast) == 0) == (len(f.AtMost) == 0) {
		node.Problemf("give the thresholds of scores 1, 2, 3 ... as one list: at_least: [60%%, 80%%] where more is better, at_most: [140%%, 120%%] where less is")
	}
	inOrder(node.At("at_least"), f.AtLeast, "rise", func(a, b quantity.Share) bool { return a < b })
	inOrder(node.At("at_most"), f.AtMost, "fall", func(a, b quantity.Share) bool { return a > b })
	f.checkMinimum(node)
}

func (f *Feature) checkMinimum(node strictyaml.Node) {
	if best := f.Best(); f.Minimum < 0 || best > 0 && f.Minimum > best {
		node.At("minimum").Problemf("the minimum is a score from 1 to %d", best)
	}
}

func inOrder(node strictyaml.Node, thresholds []quantity.Share, how string, before func(a, b quantity.Share) bool) {
	for i, t := range thresholds {
		if t <= 0 {
			node.At(i).Problemf("a threshold is a share of the baseline above 0%%")
		}
		if i > 0 && !before(thresholds[i-1], t) {
			node.At(i).Problemf("%s after %s: the thresholds must %s, since each is that of the next score", t, thresholds[i-1], how)
		}
	}
}

// Find returns a profile: a file where the name looks like a path, else the
// built-in one.
func Find(pathOrName string) (*Profile, error) {
	if !strictyaml.IsPath(pathOrName) {
		return Builtin(pathOrName)
	}
	data, err := bounded.ReadFile(pathOrName, strictyaml.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("profile %s: %w; the built-in profiles are %s", pathOrName, bounded.Cause(err), strings.Join(Names(), ", "))
	}
	return Load(strings.TrimSuffix(filepath.Base(pathOrName), ".yaml"), pathOrName, data)
}
