package image

import (
	"context"
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// WriteArchive writes images as `docker save` does, under their EngineNames.
func WriteArchive(ctx context.Context, to io.Writer, images ...*Image) error {
	byName := map[name.Reference]v1.Image{}
	for _, i := range images {
		oci, err := i.OCI(ctx)
		if err != nil {
			return err
		}
		tag, err := name.NewTag(i.EngineName())
		if err != nil {
			return fmt.Errorf("naming %s: %w", i.Name, err)
		}
		byName[tag] = oci
	}
	if err := tarball.MultiRefWrite(byName, contextWriter{ctx, to}); err != nil {
		return fmt.Errorf("writing the archive: %w", err)
	}
	return nil
}

// contextWriter ends a long copy with its context.
type contextWriter struct {
	ctx context.Context
	io.Writer
}

func (w contextWriter) Write(p []byte) (int, error) {
	if err := context.Cause(w.ctx); err != nil {
		return 0, err
	}
	return w.Writer.Write(p)
}
