package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tare/internal/base/bounded"
	"tare/internal/base/crash"
	"tare/internal/image"
	"tare/internal/run"
	"tare/internal/rundir"
	"tare/internal/rundir/archive"
)

func newPackCommand(app *App) *cobra.Command {
	var out string
	var images bool
	command := &cobra.Command{
		Use:   "pack RUN",
		Short: "Make one file of a run, for another machine",
		Long: `Make one file of a run, with a checksum of everything in it. Every command that reads
a run reads the file: tare report, compare, check, show, score, parity. tare rerun
runs the same plan again, with the same seed and images of the same digests; --images
packs the images too, for machines that cannot make the same.

A run contains the command lines, environment variables and files of its study, and
what the tools printed: look through it before you share it.`,
		Example: `  tare pack quick-20261121-014500
  tare pack ./my-run --images --out my-run.tare.tar.zst
  tare compare ./mine theirs.tare.tar.zst`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return packRun(command.Context(), app, args[0], out, images)
		},
	}
	command.Flags().StringVarP(&out, "out", "o", "", "`file` to write, - for stdout (default: the run's name with "+archive.Suffix+", here)")
	command.Flags().BoolVar(&images, "images", false, "pack the images that the run used, too")
	return command
}

func packRun(ctx context.Context, app *App, name, out string, images bool) error {
	r, err := openRun(app, name)
	if err != nil {
		return err
	}
	directory, err := filepath.Abs(r.Directory)
	if err != nil {
		return err
	}
	title := filepath.Base(directory)
	out = cmp.Or(out, title+archive.Suffix)
	if rundir.UnderWay(r.Directory) {
		return badInput("%s is under way: pack it when it has ended, or stop it first", r.Directory)
	}
	var with []*image.Image
	if images {
		if with, err = imagesOf(app, r.Manifest); err != nil {
			return err
		}
	}
	write := func(w io.Writer) error {
		return archive.Write(ctx, w, app.Version, title, r.Directory, rundir.Passing, with)
	}
	if out == "-" {
		var to io.Writer
		if to, err = app.binary("an archive"); err != nil {
			return err
		}
		err = write(to)
	} else {
		if within(directory, out) {
			return badInput("%s is in the run that is packed: name a place elsewhere with --out", out)
		}
		err = archive.Create(out, write)
	}
	pathed := (*fs.PathError)(nil)
	switch {
	case err != nil && ctx.Err() != nil:
		return &ExitError{Status: ExitInterrupted, Err: fmt.Errorf("interrupted; %s was not written", out)}
	case errors.As(err, &pathed) && (pathed.Path == out || pathed.Path == filepath.Dir(out)):
		return badInput("write the archive to %s: %w; choose another file with --out", out, pathed.Err)
	case err != nil:
		return fmt.Errorf("pack %s to %s: %w", r.Directory, out, bounded.Cause(err))
	case out == "-":
		return nil
	}
	_, err = fmt.Fprintln(app.Stdout, out)
	return err
}

// within reports whether a path leads to a place below a directory.
func within(directory, path string) bool {
	place, err := filepath.Abs(filepath.Dir(path))
	if err == nil {
		place, err = filepath.EvalSymlinks(place)
	}
	top, failed := filepath.EvalSymlinks(directory)
	if err != nil || failed != nil {
		return false
	}
	below, err := filepath.Rel(top, place)
	return err == nil && filepath.IsLocal(below)
}

// imagesOf are the images of a run that the store still has.
func imagesOf(app *App, m rundir.Manifest) (all []*image.Image, err error) {
	store := image.Existing(run.Images(app.Home))
	packed := map[string]bool{"": true} // of no image
	for _, facts := range m.AllImages() {
		if packed[facts.Digest] {
			continue
		}
		packed[facts.Digest] = true
		img, err := store.Stored(facts.Digest)
		if err != nil {
			return nil, badInput("--images: %w", err)
		}
		all = append(all, img)
	}
	slices.SortFunc(all, func(a, b *image.Image) int { return strings.Compare(a.Digest, b.Digest) })
	return all, nil
}

// unpacked is the run of an archive, below a temporary directory.
type unpacked struct {
	directory string
	images    []archive.Image // in the archive, and nowhere else
}

// find finds the directory of a run as run.Find does, or unpacks the run archive of that
// path, or the zip that has one.
func (a *App) find(name string) (string, error) {
	directory, err := run.Find(a.Home, name)
	if err == nil {
		return directory, nil
	}
	if info, e := os.Stat(name); e == nil && info.Mode().IsRegular() {
		return a.unpack(name)
	}
	return "", inputError(err)
}

// unpack returns the directory of the run in an archive, below a temporary one that is
// removed when the command ends.
func (a *App) unpack(name string) (string, error) {
	if before, known := a.unpacked[name]; known {
		return before.directory, nil
	}
	file, err := bounded.Open(name)
	if err != nil {
		return "", badInput("unpack %s: %w", name, bounded.Cause(err))
	}
	defer file.Close()
	if !archive.Is(name) {
		return "", badInput("%s is neither a run nor a run archive: it is neither compressed with zstd nor a zip", name)
	}
	into, remove, err := archive.Temporary()
	if err != nil {
		return "", fmt.Errorf("make a temporary directory to unpack %s: %w; the variable TMPDIR names the place", name, err)
	}
	a.atEnd = append(a.atEnd, remove)
	// Nothing was started, so the first signal ends the command.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	var x archive.Index
	if archive.IsZip(file) {
		x, err = archive.Unzip(ctx, file, into, rundir.Marks)
	} else {
		x, err = archive.Read(ctx, file, into)
	}
	switch {
	case ctx.Err() != nil:
		return "", &ExitError{Status: ExitInterrupted, Err: fmt.Errorf("interrupted while %s was unpacked", name)}
	case errors.Is(err, archive.ErrNoRoom):
		return "", badInput("unpack %s: %w; name a directory on a larger disk in the variable TMPDIR", name, err)
	case err != nil:
		return "", badInput("unpack %s: %w", name, err)
	}
	if a.endAtOnce {
		a.removeBySignal(into)
	}
	if a.unpacked == nil {
		a.unpacked = map[string]unpacked{}
	}
	a.unpacked[name] = unpacked{filepath.Join(into, x.Run), x.Images}
	return a.unpacked[name].directory, nil
}

// inArchive names the archive that a directory was unpacked from; "" for another directory.
func (a *App) inArchive(directory string) string {
	for name, at := range a.unpacked {
		if at.directory == directory {
			return name
		}
	}
	return ""
}

// named is a text with the names of archives instead of the temporary directories of
// their runs.
func (a *App) named(text string) string {
	for name, at := range a.unpacked {
		text = strings.ReplaceAll(text, at.directory, name)
	}
	return text
}

// removeBySignal removes a temporary directory when a signal ends the process at once.
func (a *App) removeBySignal(directory string) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	done := make(chan struct{})
	crash.Go(func() {
		defer close(done)
		if _, came := <-signals; came {
			_ = os.RemoveAll(directory)
			os.Exit(ExitInterrupted)
		}
	})
	a.atEnd = append(a.atEnd, func() error {
		signal.Stop(signals)
		close(signals)
		<-done
		return nil
	})
}

func newRerunCommand(app *App) *cobra.Command {
	var (
		out      string
		anyImage bool
		show     displayFlags
	)
	command := &cobra.Command{
		Use:   "rerun FILE|RUN",
		Short: "Run the plan of an archive or a run again",
		Long: `Run the plan of an archive or a run again: the same study with all defaults, the same
random order, and images of the same digests. An image is taken from the archive, or from
the images of this machine, or it is made or fetched from its source again; one that
then has another digest ends the command, unless --any-image is given.

tare compare shows afterwards what differs between the two runs.`,
		Example: `  tare rerun theirs.tare.tar.zst --out mine
  tare compare theirs.tare.tar.zst mine`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			return rerun(command.Context(), app, args[0], out, anyImage, show)
		},
	}
	flags := command.Flags()
	flags.StringVarP(&out, "out", "o", "", "`directory` of the run (default: HOME/runs/STUDY-TIME)")
	flags.BoolVar(&anyImage, "any-image", false, "run images of other digests, too")
	show.add(flags)
	show.addListen(flags)
	app.addNoWait(flags)
	return command
}

func rerun(ctx context.Context, app *App, name, out string, anyImage bool, show displayFlags) error {
	r, err := openRun(app, name)
	if err != nil {
		return err
	}
	if r.Manifest.Import != nil {
		return badInput("%s was imported from output of other tools: there is nothing that tare could run again", name)
	}
	plan := *r.Plan
	o := app.runOptions(&plan)
	o.Directory, o.AnyImage, o.Images = out, anyImage, r.Manifest.AllImages()
	if err := run.Check(o); err != nil {
		return inputError(err)
	}
	if lacking := plan.Lacking(); len(lacking) > 0 {
		return badInput("%s cannot be run again here: what its study names has to be at the same places, with the same content:\n  %s", name, strings.Join(lacking, "\n  "))
	}
	if err := app.alone(ctx, name); err != nil { // what follows takes time and disk
		return err
	}
	say := app.say
	if show.quiet || show.json {
		say = func(string, ...any) {}
	}
	if err := app.receiveImages(ctx, name, o.Images, say); err != nil {
		return err
	}
	if len(plan.Steps) > 0 {
		return explain(ctx, app, o, show)
	}
	return execute(ctx, app, o, show)
}

// receiveImages stores the images of an archive that its run ran and that the store lacks.
func (a *App) receiveImages(ctx context.Context, name string, needed map[string]rundir.ImageFacts, say func(string, ...any)) error {
	lacking := map[string]bool{}
	for _, facts := range needed {
		_, err := image.Existing(run.Images(a.Home)).Stored(facts.Digest)
		lacking[facts.Digest] = err != nil
	}
	if !slices.ContainsFunc(a.unpacked[name].images, func(i archive.Image) bool { return lacking[i.Digest] }) {
		return nil
	}
	store, err := image.Open(run.Images(a.Home))
	if err != nil {
		return badInput("%w", err)
	}
	file, err := bounded.Open(name)
	if err != nil {
		return badInput("read the images of %s: %w", name, bounded.Cause(err))
	}
	defer file.Close()
	content, err := archive.Member(file)
	if err != nil {
		return badInput("read the images of %s: %w", name, err)
	}
	defer content.Close()
	err = archive.ReadImages(ctx, content, func(i archive.Image, content io.Reader) error {
		if !lacking[i.Digest] {
			return nil
		}
		say("image: taking %s from %s", i.Digest, name)
		made := image.Image{Digest: i.Digest, Name: strings.ToValidUTF8(i.Name, ""), Env: i.Env, Dir: i.Dir}
		if err := json.Unmarshal(i.Config, &made.Config); err != nil {
			return fmt.Errorf("how image %s is started: %w", i.Digest, err)
		}
		_, err := store.Receive(ctx, made, func() (io.Reader, error) { return content, nil })
		return err
	})
	switch {
	case ctx.Err() != nil:
		return &ExitError{Status: ExitInterrupted, Err: fmt.Errorf("interrupted while the images of %s were read; nothing was started", name)}
	case err != nil:
		return badInput("read the images of %s: %w", name, err)
	}
	return nil
}
