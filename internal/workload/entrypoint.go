package workload

import (
	"cmp"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/image"
)

// StartsImage returns the steps that start what an image says.
func (p Pack) StartsImage() []Step {
	return lists.Filter(p.steps(), func(s Step) bool { return s.Entrypoint })
}

// WithArguments returns the pack with arguments for the image's own command, in place of
// those that the image says.
func (p Pack) WithArguments(arguments []string) Pack {
	return p.eachStep(func(s Step, _ ...any) Step {
		if s.Entrypoint {
			s.Argv = literals(arguments)
		}
		return s
	})
}

// Of returns the pack with the image's own command in the steps that start it. Each role
// has the image that the function returns for its Image.
func (p Pack) Of(named func(name string) *image.Image) Pack {
	if len(p.StartsImage()) == 0 {
		return p
	}
	step := func(s Step, _ ...any) Step {
		if !s.Entrypoint {
			return s
		}
		img := named(p.RoleImage(s.Role))
		program, arguments := literals(img.Config.Entrypoint), literals(img.Config.Cmd)
		if s.Program != nil {
			program, arguments = s.Program, nil
		}
		if s.Argv != nil {
			arguments = s.Argv
		}
		s.Entrypoint, s.Program, s.Argv = false, nil, slices.Concat(program, arguments)
		s.User, s.Dir = cmp.Or(s.User, img.Config.User), cmp.Or(s.Dir, img.Dir)
		return s
	}
	p.Servers = slices.Clone(p.Servers)
	for i, s := range p.Servers {
		own := named(p.RoleImage(s.Role)).Config
		if s.Entrypoint && s.Stop == "" {
			p.Servers[i].Stop = own.StopSignal
		}
		p.Servers[i].of(own)
	}
	return p.eachStep(step)
}

// literals are words in which what looks like a parameter of the pack is the image's.
func literals(words []string) []string { return lists.Map(words, Literal) }
