package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"tare/internal/base/bounded"
)

// origin is what a reference points to: a registry, a daemon or an archive.
type origin interface {
	// resolve returns the digest of what the reference points to now, without
	// fetching it.
	resolve(ctx context.Context) (digest string, err error)
	// fetch returns the image; work is a directory for temporary files.
	fetch(ctx context.Context, work string) (v1.Image, error)
}

// unreachableError is the error of an origin that did not answer, so that
// nothing is known about the reference.
type unreachableError struct {
	what  string
	cause error
	fix   string
}

func (e *unreachableError) Error() string {
	return fmt.Sprintf("%s does not answer: %v; %s", e.what, e.cause, e.fix)
}

func (e *unreachableError) Unwrap() error { return e.cause }

// platform selects the image if a reference has several.
var platform = v1.Platform{OS: "linux", Architecture: runtime.GOARCH}

// Check refuses a reference that is none, or whose local files cannot be read. It asks
// no registry and no engine, and reads no layer.
func Check(reference string) error {
	from, err := parseReference(reference)
	if err != nil {
		return err
	}
	switch from := from.(type) {
	case layoutOrigin:
		_, err = from.resolve(context.Background())
	case tarOrigin:
		var file *os.File
		if file, err = bounded.Open(from.file); err == nil {
			err = file.Close()
		}
		err = bounded.Cause(err)
	}
	if err != nil {
		return fmt.Errorf("image %s: %w", reference, err)
	}
	return nil
}

// inDaemon reports whether the Docker daemon has an image of this name.
func inDaemon(ctx context.Context, name string) bool {
	_, err := daemonOrigin{name}.resolve(ctx)
	return err == nil
}

func (s *Store) fromReference(ctx context.Context, reference string, progress func(string)) (*Image, error) {
	from, err := parseReference(reference)
	if err != nil {
		return nil, err
	}
	key := referenceKey(reference)
	path := s.path("references", key+".json")
	digest, err := from.resolve(ctx)
	if err != nil {
		var silent *unreachableError
		if r := s.readRecord(path); r != nil && errors.As(err, &silent) && ctx.Err() == nil {
			progress(fmt.Sprintf("image %s: using %s from the store, since checking for a newer one failed: %v", reference, short(r.Source), err))
			return s.image(*r), nil
		}
		return nil, fmt.Errorf("image %s: %w", reference, err)
	}
	if r := s.known(reference, digest); r != nil {
		return s.image(*r), s.writeRecordLocked(ctx, key, *r)
	}

	unlock, err := s.lock(ctx, "reference-"+key[:12])
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", reference, err)
	}
	defer unlock()
	if r := s.known(reference, digest); r != nil {
		return s.image(*r), s.writeRecord(path, *r)
	}
	work := s.path("images", ".pulling-"+key[:12])
	if err := os.RemoveAll(work); err != nil {
		return nil, fmt.Errorf("image %s: %w", reference, err)
	}
	defer os.RemoveAll(work)
	if err := os.MkdirAll(filepath.Join(work, "done"), 0o755); err != nil {
		return nil, fmt.Errorf("image %s: %w", reference, explain(err))
	}
	r, err := s.take(ctx, from, work, reference, progress)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", reference, err)
	}
	r.Source = digest
	if err := s.writeRecord(path, *r); err != nil {
		return nil, err
	}
	progress(fmt.Sprintf("image %s: stored, %s", reference, short(r.Digest)))
	return s.image(*r), nil
}

// take fetches an image and stores its layers as one tar.
func (s *Store) take(ctx context.Context, from origin, work, reference string, progress func(string)) (*record, error) {
	progress(fmt.Sprintf("image %s: fetching", reference))
	img, err := from.fetch(ctx, work)
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, fmt.Errorf("its configuration cannot be read: %w", err)
	}
	if config.OS != "" && config.OS != "linux" || config.Architecture != "" && config.Architecture != runtime.GOARCH {
		return nil, fmt.Errorf("it is for %s/%s, and this host is linux/%s: name an image for this host", config.OS, config.Architecture, runtime.GOARCH)
	}
	started, err := newConfig(config.Config)
	if err != nil {
		return nil, err
	}
	layers, err := img.Layers()
	if err != nil {
		return nil, fmt.Errorf("its layers cannot be read: %w", err)
	}
	if len(layers) == 0 {
		return nil, fmt.Errorf("it has no layers, so it has no root file system")
	}
	b, err := newBudget(work)
	if err != nil {
		return nil, err
	}
	var files []string
	for n, layer := range layers {
		progress(fmt.Sprintf("image %s: layer %d of %d", reference, n+1, len(layers)))
		file := filepath.Join(work, fmt.Sprintf("layer-%03d.tar", n))
		if err := spool(ctx, layer, file, b); err != nil {
			return nil, fmt.Errorf("layer %d of %d: %w", n+1, len(layers), err)
		}
		files = append(files, file)
	}
	done := filepath.Join(work, "done")
	digest, err := writeRootfs(ctx, filepath.Join(done, "rootfs.tar"), files)
	if err != nil {
		return nil, err
	}
	r := &record{Digest: digest, Name: reference, Env: config.Config.Env, Dir: config.Config.WorkingDir, Config: started}
	if !slices.ContainsFunc(r.Env, func(v string) bool { return strings.HasPrefix(v, "PATH=") }) {
		r.Env = append(r.Env, recipeEnv[0]) // as the engines do
	}
	return r, s.adopt(done, digest)
}

// spool writes a layer's tar to a file within the budget, and verifies it against the digest in the
// image's configuration.
func spool(ctx context.Context, layer v1.Layer, path string, b *budget) error {
	in, err := layer.Uncompressed()
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return explain(err)
	}
	defer out.Close()
	hash := sha256.New()
	if err := b.copy(io.MultiWriter(out, hash), contextReader{ctx, in}); err != nil {
		return err
	}
	want, err := layer.DiffID()
	if err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != want.Hex {
		return fmt.Errorf("it is damaged: its SHA-256 is %s, and the image says %s", got, want.Hex)
	}
	return explain(out.Close())
}

// known finds an image in the store that was made from the same digest, by any
// reference.
func (s *Store) known(reference, source string) *record {
	paths, _ := filepath.Glob(s.path("references", "*.json"))
	for _, path := range paths {
		if r := s.readRecord(path); r != nil && r.Source == source && r.Config != nil {
			r.Name = reference
			return r
		}
	}
	return nil
}

// writeRecordLocked records that a reference points to an image, if that is new.
func (s *Store) writeRecordLocked(ctx context.Context, key string, r record) error {
	path := s.path("references", key+".json")
	if old := s.readRecord(path); old != nil && old.Source == r.Source && old.Digest == r.Digest {
		return nil
	}
	unlock, err := s.lock(ctx, "reference-"+key[:12])
	if err != nil {
		return err
	}
	defer unlock()
	return s.writeRecord(path, r)
}

func referenceKey(reference string) string {
	sum := sha256.Sum256([]byte(reference + " " + platform.String()))
	return hex.EncodeToString(sum[:])
}
