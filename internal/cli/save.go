package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"tare/internal/image"
	"tare/internal/run"
)

func newSaveCommand(app *App) *cobra.Command {
	return &cobra.Command{
		Use:   "save IMAGE FILE",
		Short: "Write an image as an archive, for engines and nodes of a cluster",
		Long: `Write an image of the store as an archive, as docker save does, under the name
localhost/tare:DIGEST by which the environment kubernetes runs it. IMAGE is a digest
as "tare ls images" prints it. FILE must not exist.

  tare save sha256:1f0c6e29d3ab image.tar
  ctr -n k8s.io images import image.tar      (on each node, with containerd)`,
		Args: cobra.ExactArgs(2),
		RunE: func(command *cobra.Command, args []string) error {
			return inputError(save(command.Context(), app, args[0], args[1]))
		},
	}
}

func save(ctx context.Context, app *App, digest, file string) error {
	img, err := image.Existing(run.Images(app.Home)).Stored(digest)
	if named := (*image.PrefixError)(nil); errors.As(err, &named) {
		return &run.InputError{Err: err}
	}
	if err != nil {
		return err
	}
	to, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return &run.InputError{Err: fmt.Errorf("%s exists: name another file, or remove it", file)}
	}
	if err != nil {
		return &run.InputError{Err: fmt.Errorf("writing the archive: %w", err)}
	}
	if err := errors.Join(img.WriteArchive(ctx, to), to.Close()); err != nil {
		return errors.Join(err, os.Remove(file))
	}
	fmt.Fprintf(app.Stdout, "%s is in %s as %s\n", img.Name, file, img.EngineName())
	return nil
}
