package instances

import (
	"context"
	"errors"
	"fmt"
)

// Freeze freezes all instances of the group, also those of neighbours and on the
// host: what works while others are measured disturbs them. An instance that
// cannot be frozen waits idle, and the first time a note says why. The note has no name in
// it, so that a report says it once for all blocks.
func (g *Group) Freeze(ctx context.Context) (notes []string) {
	for _, i := range g.instances {
		if i.idle || i.frozen {
			continue
		}
		err := i.freeze(ctx)
		if i.idle = err != nil; i.idle {
			notes = append(notes, fmt.Sprintf("an instance waits idle between its samples and is not frozen: %v", err))
		}
	}
	return notes
}

func (i *Instance) freeze(ctx context.Context) error {
	freezer := i.Details().Freezer
	if freezer == nil {
		return errors.New("its environment cannot freeze instances")
	}
	err := freezer.Freeze(ctx)
	i.frozen = err == nil
	return err
}

// Thaw lets all instances of the group that are frozen go on. One that does not thaw
// counts as lost: nothing is asked of it any more, and its stop kills it.
func (g *Group) Thaw(ctx context.Context) error {
	var errs []error
	for _, i := range g.instances {
		if !i.frozen {
			continue
		}
		if err := i.Details().Freezer.Thaw(ctx); err != nil {
			errs = append(errs, fmt.Errorf("thawing %s: %w", i.Name, err))
			if ctx.Err() == nil {
				i.frozen = false
				errs = append(errs, i.Agent().Close())
			}
			continue
		}
		i.frozen = false
	}
	return errors.Join(errs...)
}
