package run

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/linux/private"
	"tare/internal/run/trial/instances"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/workload"
)

// prepare checks which environments work here and prepares the image for them.
func (e *execution) prepare(ctx context.Context) error {
	e.prepared, e.slots = map[string]environment.Environment{}, hostSlots{}
	if err := e.openNodes(ctx); err != nil {
		return err
	}
	for _, p := range e.Plan.Environments {
		env, facts, err := e.check(ctx, p)
		if err == nil && env != nil {
			var everywhere bool
			if everywhere, err = e.checkHostSlots(ctx, p, &facts); !everywhere {
				env = nil
			}
		}
		if err != nil {
			return err
		}
		if old, resumed := e.run.Manifest.Environments[p.Name]; resumed {
			if old.State != environment.Missing && facts.State == environment.Missing {
				return fmt.Errorf("environment %s worked when the run began and does not now: %s", p.Name, Why(facts))
			}
			if old.State == environment.Missing {
				continue // it is not in the first blocks of the run, so it stays out
			}
			facts.Notes = old.Notes
		}
		e.run.Manifest.Environments[p.Name] = facts
		if env == nil {
			e.events(Event{Kind: Skipped, Environment: p.Name, Message: Why(facts)})
			continue
		}
		e.usable = append(e.usable, p.Name)
		e.prepared[p.Name] = env
	}
	if !slices.Contains(e.usable, e.Plan.Baseline) {
		return fmt.Errorf("the baseline %s does not work here, so there is nothing to compare with: %s", e.Plan.Baseline, Why(e.run.Manifest.Environments[e.Plan.Baseline]))
	}
	if err := e.place(ctx); err != nil {
		return err
	}
	if err := e.checkRoleHosts(ctx); err != nil {
		return err
	}
	store, err := image.Open(Images(e.Home))
	if err != nil {
		return err
	}
	first, rest := e.inTwoParts()
	steps := len(first) + len(e.usable)
	e.images, e.lacking = map[string]*image.Image{}, map[lack]string{}
	for _, name := range first {
		what := e.imageWords(name)
		if err := e.prepareStep(what, what+": resolving or building it", steps, func() error {
			img, err := e.source(store, name).get(ctx, func(line string) { e.say("%s: %s", what, line) })
			if err == nil {
				e.take(name, img)
			}
			return err
		}); err != nil {
			return err
		}
	}
	if err := e.checkStarts(); err != nil {
		return err
	}
	var ready []string
	for _, name := range e.usable {
		err := e.prepareStep(name, "", steps, func() error { return e.prepareBoth(ctx, name, first) })
		switch {
		case err == nil:
			ready = append(ready, name)
			facts := e.run.Manifest.Environments[name]
			facts.Label = e.prepared[name].Label()
			facts.Versions = e.prepared[name].Versions(ctx)
			e.run.Manifest.Environments[name] = facts
		case ctx.Err() != nil, name == e.Plan.Baseline, len(e.run.Trials) > 0:
			return fmt.Errorf("prepare %s: %w", name, err)
		default: // the others are compared without it
			e.leaveOut(name, err)
		}
	}
	e.usable = ready
	if err := e.prepareHost(ctx, first); err != nil {
		return err
	}
	if err := e.prepareHostSlots(ctx); err != nil {
		return err
	}
	if len(rest) > 0 {
		e.makeLater(ctx, store, rest)
	}
	return nil
}

// leaveOut removes an environment that could not be prepared from the run.
func (e *execution) leaveOut(name string, err error) {
	facts := e.run.Manifest.Environments[name]
	facts.State = environment.Missing
	facts.Findings = append(facts.Findings, environment.Finding{State: environment.Missing, What: "the image in its form for " + name, Reason: err.Error()})
	e.run.Manifest.Environments[name] = facts
	delete(e.prepared, name)
	delete(e.beside, name)
	maps.DeleteFunc(e.slots, func(s instances.HostSlot, _ instances.HostEnvironment) bool { return s.Environment == name })
	e.events(Event{Kind: Skipped, Environment: name, Message: Why(facts)})
}

// prepareHost prepares the native environment, with the same image, for roles that
// run on the host.
func (e *execution) prepareHost(ctx context.Context, names []string) (err error) {
	registration, known := environment.Lookup(hostKind)
	if !onHost(e.Plan) || !known || e.Plan.OnHosts() || len(e.beside) == len(e.usable) {
		return nil
	}
	if state, findings := environment.Check(ctx, hostKind, registration.Options()); state == environment.Missing {
		return fmt.Errorf("prepare the host for the roles that run there: %s", Why(rundir.EnvironmentFacts{Findings: findings}))
	}
	if e.host, err = registration.New(registration.Options()); err != nil {
		return fmt.Errorf("prepare the host for the roles that run there: %w", err)
	}
	return e.prepareImages(ctx, e.host, names, true, "host")
}

// needsImage reports whether anything in a plan runs in the image of all roles, and not in
// the files of a machine.
func needsImage(plan *study.Plan) bool {
	if !plan.Needs("") {
		return false
	}
	return onHost(plan) || slices.ContainsFunc(plan.Environments, func(p study.Environment) bool {
		options, err := p.Decode()
		return err != nil || p.Inside != nil || !environment.CapabilitiesOf(p.Kind, options).OwnFiles
	})
}

// onHost says whether any role of a plan runs on the host of its environment or on
// one of the study.
func onHost(plan *study.Plan) bool {
	return slices.ContainsFunc(plan.Workloads, func(w study.Workload) bool {
		return slices.ContainsFunc(w.Pack.RoleNames(), func(role string) bool { return w.Pack.Place(role) == workload.OnHost })
	})
}

// hostKind is the kind of environment that runs an image on the host itself.
const hostKind = "native"

// check checks whether an environment of a plan works here. Where it does not, the
// environment is nil and the findings say why.
func check(ctx context.Context, p study.Environment) (environment.Environment, rundir.EnvironmentFacts, error) {
	options, err := p.Decode()
	if err != nil {
		return nil, rundir.EnvironmentFacts{}, err
	}
	state, findings := environment.Check(ctx, p.Kind, options)
	facts := rundir.EnvironmentFacts{State: state, Findings: findings}
	if state == environment.Missing {
		return nil, facts, nil
	}
	r, _ := environment.Lookup(p.Kind)
	env, err := r.New(options)
	return env, facts, err
}

// Why is the finding that keeps an environment from working, with its fix.
func Why(f rundir.EnvironmentFacts) string {
	for _, finding := range f.Findings {
		if finding.State == environment.Missing {
			text := fmt.Sprintf("needs %s: %s", finding.What, finding.Reason)
			if !finding.Fix.IsZero() {
				text += "; fix it with: " + finding.Fix.String()
			}
			return text
		}
	}
	return string(f.State)
}

// imageFrom makes or fetches an image. One that the user named and that cannot be had is
// an error of the input.
func imageFrom(ctx context.Context, store *image.Store, source image.Source, say func(string)) (*image.Image, error) {
	img, err := store.Get(ctx, source, say)
	if err != nil && source.Reference != "" {
		err = &InputError{err}
	}
	return img, err
}

// MakeImages makes or fetches the images that the instances of a plan run, each once.
func MakeImages(ctx context.Context, home string, plan *study.Plan, say func(string)) (images []*image.Image, err error) {
	if err := private.Check(home); err != nil {
		return nil, &InputError{err}
	}
	store, err := image.Open(Images(home))
	if err != nil {
		return nil, &InputError{err}
	}
	for _, name := range unique(slices.Concat(plan.ImageNames(false), plan.ImageNames(true))) {
		img, err := imageFrom(ctx, store, plan.Source(name), say)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(images, func(other *image.Image) bool { return other.EngineName() == img.EngineName() }) {
			images = append(images, img)
		}
	}
	return images, nil
}
