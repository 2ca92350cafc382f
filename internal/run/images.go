package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/base/crash"
	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/image"
	"tare/internal/run/schedule"
	"tare/internal/rundir"
	"tare/internal/study"
)

// later is what is made beside the first trials: images that have to be fetched or built.
type later struct {
	names  []string // in the plan
	users  string   // the workloads that wait for them
	cancel context.CancelFunc
	done   chan struct{}
	said   bool
	// images and errors are those of names, once done is closed.
	images []*image.Image
	errors []error
}

// lack is an image that could not be had, or not in the form of an environment; "" stands
// for all environments.
type lack struct{ environment, image string }

// inTwoParts divides the images that a plan needs: those to have before the first trial, and
// those to make beside it. The second part is empty where no workload can do without it, or
// where environments are on other hosts.
func (e *execution) inTwoParts() (first, rest []string) {
	all := unique(append(slices.Concat(e.Plan.ImageNames(false), e.Plan.ImageNames(true)), ""))
	slices.Sort(all)
	if len(e.Plan.Hosts) > 0 || len(e.nodes) > 0 || !slices.ContainsFunc(e.Plan.Workloads, e.atOnce) {
		return all, nil
	}
	for _, name := range all {
		if e.Plan.Own(name) || name == "" && !needsImage(e.Plan) {
			first = append(first, name)
		} else {
			rest = append(rest, name)
		}
	}
	return first, rest
}

// atOnce says whether a workload needs no image that has to be made.
func (e *execution) atOnce(w study.Workload) bool {
	return !slices.ContainsFunc(w.Levels, func(l study.Level) bool { return !e.Plan.AtOnce(l.Shape) })
}

func (e *execution) imageWords(name string) string {
	if name == "" {
		return "image"
	}
	return "image of " + e.Plan.UsersOf(name)
}

// imageSource is where an image of a run comes from.
type imageSource struct {
	store *image.Store
	from  image.Source
	// was is the image that the run has to have; rerun says that it is that of another one.
	was              rundir.ImageFacts
	none, rerun, any bool
}

// source of an image by its name in the plan.
func (e *execution) source(store *image.Store, name string) imageSource {
	from := e.Plan.Source(name)
	return imageSource{
		store: store, from: from, was: e.run.Manifest.AllImages()[name], rerun: e.Options.Images != nil, any: e.AnyImage,
		none: name == "" && from.Reference == "" && !needsImage(e.Plan),
	}
}

// get returns the image. A run that is resumed, or made again, has to have the one that the
// manifest names: that of the store, or what the source gives once more.
func (s imageSource) get(ctx context.Context, say func(string)) (*image.Image, error) {
	if s.was.Digest != "" {
		if img, err := s.store.Stored(s.was.Digest); err == nil {
			return img, nil
		}
	}
	if s.none {
		return image.None(), nil
	}
	img, err := imageFrom(ctx, s.store, s.from, say)
	if err != nil && s.was.Digest != "" && s.rerun {
		return nil, fmt.Errorf("the run has image %s, which is not here: %w; take it along with `tare pack --images`", s.was.Digest, err)
	}
	if err != nil {
		return nil, err
	}
	if s.was.Digest != "" && s.was.Digest != img.Digest && !s.any {
		fix := "begin a new run"
		if s.rerun {
			fix = "take the image along with `tare pack --images`, or run another one with --any-image"
		}
		return nil, &InputError{fmt.Errorf("the run has image %s, and its source gives %s now: what ran in two images cannot be compared; %s", s.was.Digest, img.Digest, fix)}
	}
	return img, nil
}

// take makes an image one of the run.
func (e *execution) take(name string, img *image.Image) {
	e.images[name] = img
	e.run.Manifest.SetImage(name, rundir.ImageFacts{Name: img.Name, Digest: img.Digest})
}

// checkStarts refuses workloads that start what an image says, where it says nothing.
func (e *execution) checkStarts() error {
	for _, w := range e.Plan.Workloads {
		for _, s := range w.Pack.StartsImage() {
			own := cmp.Or(e.images[w.RoleImage(s.Role)], e.images[""])
			if own != nil && len(s.Program)+len(s.Argv)+len(own.Config.Command()) == 0 {
				return &InputError{fmt.Errorf("workload %s starts the image's own command, and image %s has neither an entrypoint nor a command: name another image, or a pack with the command", w.Name, own.Name)}
			}
		}
	}
	return nil
}

// prepareImages prepares an environment for those of the named images that its instances
// run, or those on the host.
func (e *execution) prepareImages(ctx context.Context, env environment.Environment, names []string, onHost bool, name string) error {
	for _, needed := range e.Plan.ImageNames(onHost) {
		if !slices.Contains(names, needed) {
			continue
		}
		if err := env.Prepare(ctx, e.images[needed], func(line string) { e.say("%s: %s", name, line) }); err != nil {
			return err
		}
	}
	return nil
}

// prepareBoth prepares an environment for images, and the one of its roles on the host.
func (e *execution) prepareBoth(ctx context.Context, name string, names []string) error {
	if err := e.prepareImages(ctx, e.prepared[name], names, false, name); err != nil {
		return err
	}
	if beside := e.beside[name]; beside != nil {
		return e.prepareImages(ctx, beside, names, true, "host of "+name)
	}
	return nil
}

// makeLater begins to make images beside the first trials, on cores that these leave free.
func (e *execution) makeLater(ctx context.Context, store *image.Store, names []string) {
	waiting := lists.Filter(e.Plan.Workloads, func(w study.Workload) bool { return !e.atOnce(w) })
	l := &later{names: names, done: make(chan struct{}), users: strings.Join(lists.Map(waiting, func(w study.Workload) string { return w.Name }), ", ")}
	ctx, l.cancel = context.WithCancel(ctx)
	sources := lists.Map(names, func(name string) imageSource { return e.source(store, name) })
	cores := e.freeCores()
	e.later = l
	crash.Go(func() {
		defer close(l.done)
		if cores != nil {
			runtime.LockOSThread() // and never unlocked: the thread ends with this goroutine
			_ = unix.SchedSetaffinity(0, cores)
		}
		for _, s := range sources {
			img, err := s.get(ctx, func(string) {})
			l.images, l.errors = append(l.images, img), append(l.errors, err)
		}
	})
}

// freeCores are those that no environment of the plan uses; nil where none is left, or any
// may be used.
func (e *execution) freeCores() *unix.CPUSet {
	var free unix.CPUSet
	if unix.SchedGetaffinity(0, &free) != nil {
		return nil
	}
	for _, environment := range e.Plan.Environments {
		if environment.Limits.Cores == nil {
			return nil
		}
		for _, core := range environment.Limits.Cores {
			free.Clear(core)
		}
	}
	if free.Count() == 0 {
		return nil
	}
	return &free
}

// making is what is said of trials that are made while an image is; "" where none is.
func (e *execution) making() string {
	if e.later == nil {
		return ""
	}
	select {
	case <-e.later.done:
		return ""
	default:
	}
	if !e.later.said {
		e.later.said = true
		e.events(Event{Kind: Noted, Message: "the image of " + e.later.users + " is being made; what needs none is measured meanwhile"})
	}
	return "the image of other workloads was being made"
}

// endLater ends what is made beside trials, where nothing waits for it any more.
func (e *execution) endLater() {
	if e.later != nil {
		e.later.cancel()
		<-e.later.done
	}
}

// prepareAll prepares everything before anything is started.
func (e *execution) prepareAll(ctx context.Context) error {
	err := e.prepare(ctx)
	defer e.endLater()
	if err != nil || e.later == nil {
		return err
	}
	<-e.later.done
	if err := errors.Join(e.later.errors...); err != nil {
		return err
	}
	return e.takeLater(ctx)
}

// awaitImages waits for the images of the trials of a batch. The wait is no part of the
// budget.
func (e *execution) awaitImages(ctx context.Context, slots []schedule.Slot) error {
	level, _ := e.Plan.Workload(slots[0].Workload).Level(slots[0].Level)
	if e.later == nil || e.Plan.AtOnce(level.Shape) {
		return nil
	}
	began := time.Now()
	if e.making() != "" {
		e.progress(Event{Kind: Waiting, Slot: &slots[0], Message: "the image of " + e.later.users + " is being made"})
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-e.later.done:
	}
	err := e.takeLater(ctx)
	e.deciding.Lock()
	e.began = e.began.Add(time.Since(began))
	e.deciding.Unlock()
	return errors.Join(err, e.run.SaveManifest())
}

// takeLater takes what was made beside the first trials, and prepares the environments for
// it. What could not be had leaves out the trials that need it.
func (e *execution) takeLater(ctx context.Context) error {
	l := e.later
	e.later = nil
	l.cancel()
	var had []string
	for i, name := range l.names {
		if err := l.errors[i]; err != nil {
			e.lack(lack{image: name}, e.imageWords(name), err)
			continue
		}
		e.take(name, l.images[i])
		had = append(had, name)
	}
	if err := e.checkStarts(); err != nil {
		return err
	}
	e.steps = 0
	for _, name := range e.usable {
		err := e.prepareStep(name, "", len(e.usable), func() error { return e.prepareBoth(ctx, name, had) })
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, image := range had {
			if err != nil {
				e.lack(lack{name, image}, "the image in its form for "+name, err)
			}
		}
	}
	if e.host == nil {
		return nil
	}
	return e.prepareImages(ctx, e.host, had, true, "host")
}

// lack notes what could not be had.
func (e *execution) lack(what lack, words string, err error) {
	e.lacking[what] = words + ": " + e.secrets.Mask(err.Error())
	e.events(Event{Kind: Noted, Message: e.lacking[what] + "; the workloads that need it are left out"})
}

// unable says why the instances of a trial, or those of the baseline beside it, cannot be
// started for lack of an image; "" where they can.
func (e *execution) unable(slot schedule.Slot) (why string) {
	level, _ := e.Plan.Workload(slot.Workload).Level(slot.Level)
	for _, name := range e.Plan.ImagesOf(level.Shape) {
		why = cmp.Or(why, e.lacking[lack{image: name}], e.lacking[lack{slot.Environment, name}], e.lacking[lack{e.Plan.Baseline, name}])
	}
	return why
}
