package image

import (
	"context"
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// WriteArchive writes the image as `docker save` does, under its EngineName.
func (i *Image) WriteArchive(ctx context.Context, to io.Writer) error {
	oci, err := i.OCI(ctx)
	if err != nil {
		return err
	}
	tag, err := name.NewTag(i.EngineName())
	if err != nil {
		return fmt.Errorf("naming %s: %w", i.Name, err)
	}
	if err := tarball.Write(tag, oci, contextWriter{ctx, to}); err != nil {
		return fmt.Errorf("writing the archive of %s: %w", i.Name, err)
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
