package origin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"tare/internal/base/bounded"
	"tare/internal/image/store"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/moby/client"
)

// Description is what an image says about itself, without its files.
type Description struct {
	Config
	Env []string
}

// Describe reads the metadata of an image where it is: it stores nothing, and reads no
// layer. An image whose registry or engine does not answer has the error ErrSilent.
func Describe(ctx context.Context, reference string) (*Description, error) {
	from, err := Parse(reference)
	if err != nil {
		return nil, err
	}
	work, err := bounded.Temporary("tare-metadata-")
	if err != nil {
		return nil, store.Explain(err)
	}
	defer os.RemoveAll(work)
	described, err := describe(ctx, from, work)
	if silent := (*UnreachableError)(nil); errors.As(err, &silent) {
		err = fmt.Errorf("%w: %w", ErrSilent, err)
	}
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", reference, err)
	}
	config, err := newConfig(*described)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", reference, err)
	}
	return &Description{Config: *config, Env: described.Env}, nil
}

// ErrSilent is the error of an image whose registry or engine does not answer.
var ErrSilent = errors.New("its metadata is not known")

// describe reads the configuration of an image.
func describe(ctx context.Context, from Origin, work string) (*v1.Config, error) {
	var img v1.Image
	var err error
	switch from := from.(type) {
	case daemonOrigin:
		return from.describe(ctx)
	case interface {
		open(context.Context, string, bool) (v1.Image, error)
	}:
		img, err = from.open(ctx, work, true)
	default:
		img, err = from.fetch(ctx, work, "")
	}
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("its configuration cannot be read: %w", err)
	}
	return &config.Config, nil
}

// describe asks the engine, which has the configuration in the form of the OCI.
func (o daemonOrigin) describe(ctx context.Context) (*v1.Config, error) {
	var config v1.Config
	err := o.with(EngineTimeout, func(engine *client.Client) error {
		found, err := engine.ImageInspect(ctx, o.name)
		if err != nil {
			return err
		}
		text, err := json.Marshal(found.Config)
		if err != nil {
			return err
		}
		return json.Unmarshal(text, &config)
	})
	return &config, err
}
