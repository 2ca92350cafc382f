package attribution

import (
	"cmp"
	"context"

	"tare/internal/environment"
)

// cross adds the changes from the draft's kind and options to those of another
// environment.
func (b *builder) cross(to *draft) error {
	from := b.at.clone()
	one, two, err := b.crossings(from, to)
	switch {
	case err != nil:
		return err
	case one != nil && one.Kind == two.Kind && (from.Kind != to.Kind || one.Kernel != two.Kernel):
		return b.crossThrough(from, to, one, two)
	case from.Kind == to.Kind:
		return b.switchOptions(to)
	}
	return b.crossDirectly(from, to)
}

// crossings of both ends to an intermediate kind, nil where one of them has none.
func (b *builder) crossings(from, to *draft) (one, two *environment.Crossing, err error) {
	if from.parts().Cross == nil || to.parts().Cross == nil {
		return nil, nil, nil
	}
	if one, err = b.crossing(from); err == nil {
		two, err = b.crossing(to)
	}
	return one, two, err
}

func (b *builder) crossing(d *draft) (*environment.Crossing, error) {
	options, err := d.decode()
	if err != nil {
		return nil, err
	}
	var facts any
	switch ask := d.parts().Facts; {
	case b.facts != nil:
		facts = b.facts(d.Kind, options)
	case ask != nil:
		facts = ask(context.Background(), options)
	}
	c, err := d.parts().Cross(options, facts)
	for _, note := range c.Notes {
		b.note("%s", note)
	}
	return &c, err
}

// crossThrough switches the options of the first end to the closest that its kind
// has to the intermediate kind, changes to that kind, switches its parts, changes
// to the kind of the second end, and switches the rest of its options.
func (b *builder) crossThrough(from, to *draft, one, two *environment.Crossing) error {
	if align := partsOf(one.Kind).Align; align != nil {
		align(one, two)
	}
	first, err := from.with(one.Kind, one.Options)
	if err != nil {
		return err
	}
	second, err := from.with(one.Kind, two.Options)
	if err != nil {
		return err
	}
	if from.Kind != one.Kind {
		closest, err := from.with(from.Kind, one.Closest)
		if err != nil {
			return err
		}
		if err := b.switchOptions(closest); err != nil {
			return err
		}
		b.changeKind(one.Leave, first)
	}
	if err := b.switchOptions(second); err != nil || to.Kind == two.Kind {
		return err
	}
	closest, err := to.with(to.Kind, two.Closest)
	if err != nil {
		return err
	}
	enter := two.Enter
	enter.Key = RestPart
	b.changeKind(enter, closest)
	return b.switchOptions(to)
}

// crossDirectly changes the kind in one step, between options of the two kinds
// that are as close to each other as they can be.
func (b *builder) crossDirectly(from, to *draft) error {
	first, err := approach(from, to)
	if err != nil {
		return err
	}
	second, err := approach(to, from)
	if err != nil {
		return err
	}
	if err := b.switchOptions(first); err != nil {
		return err
	}
	b.changeKind(b.directStep(from, to), second)
	return b.switchOptions(to)
}

// approach is d with options as close to the other end as its kind has them; where
// the kind refuses those, d itself.
func approach(d, other *draft) (*draft, error) {
	approach := d.parts().Approach
	if approach == nil {
		return d, nil
	}
	options, err := d.decode()
	if err != nil {
		return nil, err
	}
	theirs, err := other.decode()
	if err != nil {
		return nil, err
	}
	guest := other.parts().Guest
	approach(options, environment.Other{Bridged: guest != nil && guest.Bridged(theirs)})
	closer, err := d.with(d.Kind, options)
	if err != nil || !closer.valid() {
		return d, err
	}
	return closer, nil
}

// directStep describes the change of the kind in one step.
func (b *builder) directStep(from, to *draft) Part {
	about := to.Kind + " instead of " + from.Kind
	p := Part{Key: RestPart, Name: "change of kind to " + to.Kind, Group: "kind"}
	one, two := from.parts().Guest, to.parts().Guest
	switch {
	case two != nil && one == nil:
		p = two.Enter
		if p.About != "" {
			p.About += ", instead of " + from.Kind
		}
		for _, note := range two.EnterNotes {
			b.note("%s", note)
		}
	case one != nil && two == nil:
		p = one.Leave
	default:
		b.note("no part between %s and %s can be switched separately: the step is the whole difference", from.Kind, to.Kind)
	}
	p.About = cmp.Or(p.About, about)
	p.Switched = about
	for _, guest := range []*environment.Guest{one, two} {
		if guest != nil {
			for _, note := range guest.Notes {
				b.note("%s", note)
			}
		}
	}
	return p
}
