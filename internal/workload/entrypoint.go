package workload

import (
	"slices"

	"tare/internal/image"
)

// StartsImage reports whether a step starts what the image says.
func (p Pack) StartsImage() bool {
	return slices.ContainsFunc(p.steps(), func(s Step) bool { return s.Entrypoint })
}

// Of returns the pack with the image's own command in the steps that start it.
func (p Pack) Of(img *image.Image) Pack {
	if !p.StartsImage() {
		return p
	}
	step := func(s Step) Step {
		if !s.Entrypoint {
			return s
		}
		s.Entrypoint, s.User, s.Dir, s.Argv = false, img.Config.User, img.Dir, nil
		for _, word := range img.Config.Command() {
			// What looks like a parameter of the pack is the image's.
			s.Argv = append(s.Argv, reference.ReplaceAllString(word, "$$$0"))
		}
		return s
	}
	p.Servers = slices.Clone(p.Servers)
	for i, s := range p.Servers {
		if s.Entrypoint && s.Stop == "" {
			p.Servers[i].Stop = img.Config.StopSignal
		}
	}
	return p.eachStep(step)
}
