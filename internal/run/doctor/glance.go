package doctor

import (
	"context"
	"slices"
	"strings"
	"time"

	"tare/internal/base/crash"
	"tare/internal/environment"
)

// Glance checks every registered kind side by side and returns after limit at the
// latest. unchecked are the kinds whose checks had not ended by then, such as one whose
// cluster does not answer. Where packages are missing, the findings also have those that
// later requirements miss, so that one command can install all.
func Glance(ctx context.Context, limit time.Duration) (checked []Environment, unchecked []string) {
	ctx, stop := context.WithTimeout(ctx, limit)
	defer stop()
	kinds := environment.Kinds()
	ended := make(chan Environment, len(kinds)) // a check may end when nobody waits for it
	for _, kind := range kinds {
		crash.Go(func() {
			if e := glance(ctx, kind); ctx.Err() == nil { // else the check was cut off, which says nothing
				ended <- e
			}
		})
	}
	for range kinds {
		select {
		case e := <-ended:
			checked = append(checked, e)
			continue
		case <-ctx.Done():
		}
		break
	}
	slices.SortFunc(checked, func(a, b Environment) int { return strings.Compare(a.Kind, b.Kind) })
	for _, kind := range kinds {
		if !slices.ContainsFunc(checked, func(e Environment) bool { return e.Kind == kind }) {
			unchecked = append(unchecked, kind)
		}
	}
	return checked, unchecked
}

func glance(ctx context.Context, kind string) Environment {
	registration, _ := environment.Lookup(kind)
	options := registration.Options()
	e := Environment{Kind: kind, About: registration.About, State: environment.Usable}
	for _, r := range registration.Requires(options) {
		f := r.Check(ctx)
		f.What = r.What
		e.Findings = append(e.Findings, f)
		switch {
		case f.State == environment.Missing:
			e.State = environment.Missing
			if f.Fix.Code != environment.FixInstall {
				return e // later requirements depend on this one
			}
		case f.State == environment.Caveat && e.State == environment.Usable:
			e.State = environment.Caveat
		}
	}
	if e.State != environment.Missing {
		if env, err := registration.New(options); err == nil {
			e.Label = env.Label()
		}
	}
	return e
}
