package workload

import "slices"

// WithEnv returns the pack with environment variables, KEY=VALUE, in every step. They
// override those of the same name that a step has.
func (p Pack) WithEnv(env []string) Pack {
	return p.eachStep(func(s Step, _ ...any) Step {
		s.Env = slices.Concat(s.Env, literals(env))
		return s
	})
}

// eachStep returns a copy in which change was applied to every step. at is the position
// of the step in the pack's file.
func (p Pack) eachStep(change func(s Step, at ...any) Step) Pack {
	each := func(name string, list []Step) []Step {
		list = slices.Clone(list)
		for i, s := range list {
			list[i] = change(s, name, i)
		}
		return list
	}
	p.Begin, p.End = each("begin", p.Begin), each("end", p.End)
	p.Setup, p.Teardown = each("setup", p.Setup), each("teardown", p.Teardown)
	p.Servers = slices.Clone(p.Servers)
	for i, s := range p.Servers {
		p.Servers[i].Step = change(s.Step, "servers", i)
	}
	one := func(s *Step, at ...any) *Step {
		if s == nil {
			return nil
		}
		changed := change(*s, at...)
		return &changed
	}
	p.Warmup, p.Driver = one(p.Warmup, "warmup"), one(p.Driver, "driver")
	if p.Length != nil {
		l := *p.Length
		l.Driver, p.Length = one(l.Driver, "length", "driver"), &l
	}
	return p
}
