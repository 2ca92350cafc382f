package workload

import "slices"

// WithEnv returns the pack with environment variables, KEY=VALUE, in every step. They
// override those of the same name that a step has.
func (p Pack) WithEnv(env []string) Pack {
	var escaped []string
	for _, e := range env { // what looks like a parameter of the pack is the value's
		escaped = append(escaped, reference.ReplaceAllString(e, "$$$0"))
	}
	return p.eachStep(func(s Step) Step {
		s.Env = slices.Concat(s.Env, escaped)
		return s
	})
}

// eachStep returns a copy in which change was applied to every step.
func (p Pack) eachStep(change func(Step) Step) Pack {
	for _, list := range []*[]Step{&p.Begin, &p.End, &p.Setup, &p.Teardown} {
		*list = slices.Clone(*list)
		for i := range *list {
			(*list)[i] = change((*list)[i])
		}
	}
	p.Servers = slices.Clone(p.Servers)
	for i, s := range p.Servers {
		p.Servers[i].Step = change(s.Step)
	}
	for _, one := range []**Step{&p.Warmup, &p.Driver} {
		if *one != nil {
			s := change(**one)
			*one = &s
		}
	}
	if p.Length != nil && p.Length.Driver != nil {
		l, s := *p.Length, change(*p.Length.Driver)
		l.Driver, p.Length = &s, &l
	}
	return p
}
