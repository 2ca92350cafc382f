package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"tare/internal/image"
	"tare/internal/run"
	"tare/internal/study"
)

func newSaveCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "save STUDY|IMAGE FILE",
		Short: "Write the images of a study as an archive",
		Long: `Write the images that a study runs as one archive, as docker save does, under the
names localhost/tare:DIGEST by which the environment kubernetes runs them. STUDY is a
YAML file or the name of a built-in study; its images, which are the same at each of its
scales, are made or fetched first. IMAGE is the digest of one image, as "tare ls images"
prints it. FILE must not exist.

  tare save ./pods.yaml image.tar
  ctr -n k8s.io images import image.tar      (on each node, with containerd)`,
		Args: cobra.ExactArgs(2),
		RunE: func(command *cobra.Command, args []string) error {
			return save(command.Context(), app, args[0], args[1])
		},
	}
}

func save(ctx context.Context, app *App, what, file string) error {
	var plan *study.Plan // of a study; an image has none
	if !strings.HasPrefix(what, "sha256:") {
		var err error
		if plan, err = resolve(what, study.Overrides{}); err != nil {
			return err
		}
	}
	if _, err := os.Lstat(file); err == nil {
		return badInput("%s exists: name another file, or remove it", file)
	}
	images, err := imagesToSave(ctx, app, plan, what)
	if err != nil {
		return inputError(err)
	}
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return badInput("writing the archive: %w", err)
	}
	if err := errors.Join(image.WriteArchive(ctx, to, images...), to.Close()); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	for _, img := range images {
		fmt.Fprintf(app.Stdout, "%s is in %s as %s\n", img.Name, file, img.EngineName())
	}
	return nil
}

func imagesToSave(ctx context.Context, app *App, plan *study.Plan, digest string) ([]*image.Image, error) {
	if plan != nil {
		return run.MakeImages(ctx, app.Home, plan, func(line string) { fmt.Fprintln(app.Stderr, line) })
	}
	img, err := image.Existing(run.Images(app.Home)).Stored(digest)
	if named := (*image.PrefixError)(nil); errors.As(err, &named) {
		return nil, badInput("%w", err)
	}
	return []*image.Image{img}, err
}
