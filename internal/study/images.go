package study

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/image/origin"
	"tare/internal/image/recipe"
	"tare/internal/workload"
)

// roleImages are the images of workloads and roles that do not run in that of the plan, by
// the names that packs give them, or their references; nil where there are none.
func roleImages(root strictyaml.Node, plan *Plan) map[string]image.Source {
	images := map[string]image.Source{}
	var recipes []recipe.Recipe
	named := plan.Image.Reference != "" || slices.ContainsFunc(plan.Workloads, func(w Workload) bool { return w.Image != "" })
	for _, w := range plan.Workloads {
		for _, pack := range []*workload.Pack{&w.Pack, w.Neighbour} {
			// An image that is built from recipes has those of the packs.
			if pack != nil && named && slices.ContainsFunc(pack.RoleNames(), pack.InOwnImage) {
				recipes = append(recipes, pack.Image)
			}
		}
	}
	if len(recipes) > 0 {
		merged, err := recipe.Merge(recipes...)
		if err != nil {
			root.At("workloads").Problemf("the image of the roles on the host: %s", err)
		}
		images[workload.OwnImage] = image.Source{Recipe: &merged}
	}
	for _, w := range plan.Workloads {
		for _, role := range w.Pack.RoleNames() {
			if w.Application.Of(role) != nil {
				reference := w.Pack.RoleImage(role) // what the engine has of this name, else the registry
				images[reference] = image.Source{Reference: reference, Engine: !strings.HasPrefix(reference, "docker-daemon:")}
			}
		}
	}
	for _, w := range plan.Workloads {
		if w.Image != "" {
			images[w.Image] = image.Source{Reference: w.Image}
		}
	}
	if len(images) == 0 {
		return nil
	}
	return images
}

// shapes calls do for each shape of the plan's levels, neighbours' included.
func (p *Plan) shapes(do func(*Shape)) {
	for _, w := range p.Workloads {
		for _, l := range w.Levels {
			for s := &l.Shape; s != nil; s = s.Neighbours {
				do(s)
			}
		}
	}
}

// ImageNames are the names of the images of the instances that a plan needs, of those on
// the host or of the others: "" is the plan's own image, as are names that the plan does
// not have.
func (p *Plan) ImageNames(onHost bool) (names []string) {
	add := func(name string) {
		if _, own := p.Images[name]; !own {
			name = ""
		}
		names = append(names, name)
	}
	p.shapes(func(s *Shape) {
		if s.Together && !onHost {
			add(s.Image)
		}
		for _, r := range s.Roles {
			if r.OnHost == onHost {
				add(r.Image)
			}
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// imagesIn are the references of the images that an environment runs; of a kind that is
// placed also those of roles on the host, which run beside it.
func (p *Plan) imagesIn(e Environment) (references []string) {
	placed := environment.CapabilitiesOf(e.Kind, nil).Placed
	add := func(image string) {
		references = append(references, cmp.Or(p.Source(image).Reference, workload.OwnImage))
	}
	p.shapes(func(s *Shape) {
		if s.Together {
			add(s.Image)
		}
		for _, r := range s.Roles {
			if r.OnHost && placed || !r.OnHost && (!r.InBaseline || e.Name == p.Baseline) {
				add(r.Image)
			}
		}
	})
	slices.Sort(references)
	return slices.Compact(references)
}

// checkNames reports names of images on other machines that are for no image, and one name
// for several images: each role would run in the image of that name.
func checkNames(root strictyaml.Node, plan *Plan) {
	for _, e := range plan.Environments {
		can := e.Capabilities()
		one, each := can.ImageName, can.ImageNames
		runs := plan.imagesIn(e)
		if one != "" && len(runs) > 1 {
			root.At("environments", e.Name, "image").Problemf("image: it names one image, and %s runs %d (%s): name each in images: {%q: NAME, ...}", e.Name, len(runs), strings.Join(runs, ", "), runs[0])
		}
		for _, reference := range slices.Sorted(maps.Keys(each)) {
			if !slices.Contains(runs, reference) {
				root.At("environments", e.Name, "images").Problemf("images: %s runs no image %s: it runs %s", e.Name, reference, strings.Join(runs, ", "))
			}
		}
	}
}

// AtOnce says whether the instances of a shape run what tare has in itself, so that nothing
// has to be fetched or built for them.
func (p *Plan) AtOnce(s Shape) bool {
	return !slices.ContainsFunc(p.ImagesOf(s), func(name string) bool { return !p.Own(name) })
}

// Needs says whether an instance of the plan, or a role on the host, runs an image of the plan.
func (p *Plan) Needs(name string) bool {
	return slices.Contains(p.ImageNames(false), name) || slices.Contains(p.ImageNames(true), name)
}

// Own says whether an image of the plan is the one that tare has in itself.
func (p *Plan) Own(name string) bool { return p.Source(name).Reference == origin.Own }

// Source of an image, by its name in the plan.
func (p *Plan) Source(name string) image.Source {
	if own, is := p.Images[name]; is {
		return own
	}
	return p.Image
}

// ImagesOf are the names of the images of the instances of a shape.
func (p *Plan) ImagesOf(s Shape) []string {
	one := Plan{Images: p.Images, Workloads: []Workload{{Levels: []Level{{Shape: s}}}}}
	return slices.Concat(one.ImageNames(false), one.ImageNames(true))
}

// RoleImage is the name of the image that a role runs in, in a plan's Images; "" is that of
// all.
func (w Workload) RoleImage(role string) string { return cmp.Or(w.Pack.RoleImage(role), w.Image) }

// References are the plan's images that others made, each once.
func (p *Plan) References() (list []string) {
	for _, source := range append(slices.Collect(maps.Values(p.Images)), p.Image) {
		if source.Reference != "" {
			list = append(list, source.Reference)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// UsersOf says for which roles or workloads an image of the plan is.
func (p *Plan) UsersOf(name string) string {
	if name == workload.OwnImage {
		return "roles on the host"
	}
	var roles []string
	for _, w := range p.Workloads {
		if w.Image == name {
			roles = append(roles, w.Name)
			continue
		}
		for _, role := range w.Pack.RoleNames() {
			if w.Pack.RoleImage(role) == name && !slices.Contains(roles, role) {
				roles = append(roles, role)
			}
		}
	}
	return strings.Join(roles, ", ")
}

// checkEntrypoints reports workloads that start what the image says, where the image is
// built from packages, which say nothing.
func checkEntrypoints(root strictyaml.Node, plan *Plan) {
	if plan.Image.Reference != "" {
		return
	}
	for _, w := range plan.Workloads {
		if slices.ContainsFunc(w.Pack.StartsImage(), func(s workload.Step) bool { return plan.Images[w.RoleImage(s.Role)].Reference == "" }) {
			root.At("workloads").Problemf("workload %s starts the image's own command, and an image that is built from packages has none: name an image with `image: {reference: ...}` in the study, or with --image of `tare workload check`", w.Name)
		}
	}
}
