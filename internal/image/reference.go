package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"tare/internal/image/origin"
	"tare/internal/image/recipe"
	"tare/internal/image/rootfs"
	"tare/internal/image/store"
)

func (s *Store) fromReference(ctx context.Context, reference string, progress func(string)) (*Image, error) {
	from, err := origin.Parse(reference)
	if err != nil {
		return nil, err
	}
	key := referenceKey(reference)
	path := s.files.Path("references", key+".json")
	digest, err := from.Resolve(ctx)
	if err != nil {
		var silent *origin.UnreachableError
		if r := s.readRecord(path); r != nil && r.Source != "" && errors.As(err, &silent) && ctx.Err() == nil {
			progress(fmt.Sprintf("image %s: using %s from the store, since checking for a newer one failed: %v", reference, store.Short(r.Digest), err))
			return s.image(*r), nil
		}
		return nil, fmt.Errorf("image %s: %w", reference, err)
	}
	if r := s.known(reference, digest); r != nil {
		return s.image(*r), s.writeRecordLocked(ctx, key, *r)
	}

	unlock, err := s.files.Lock(ctx, "reference-"+key[:12])
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", reference, err)
	}
	defer unlock()
	if r := s.known(reference, digest); r != nil {
		return s.image(*r), s.writeRecord(path, *r)
	}
	r, err := s.take(ctx, from, digest, s.files.Path("images", ".pulling-"+key[:12]), reference, progress)
	if err != nil {
		return nil, fmt.Errorf("image %s: %w", reference, err)
	}
	if err := s.writeRecord(path, *r); err != nil {
		return nil, err
	}
	progress(fmt.Sprintf("image %s: stored, %s", reference, store.Short(r.Digest)))
	return s.image(*r), nil
}

// take fetches an image and stores its layers as one tar.
func (s *Store) take(ctx context.Context, from origin.Origin, source, work, reference string, progress func(string)) (*record, error) {
	if err := os.RemoveAll(work); err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	done := filepath.Join(work, "done")
	if err := os.MkdirAll(done, 0o755); err != nil {
		return nil, store.Explain(err)
	}
	content, err := origin.Pull(ctx, from, source, work, func(line string) { progress("image " + reference + ": " + line) })
	if err != nil {
		return nil, err
	}
	digest, err := rootfs.Write(ctx, filepath.Join(done, "rootfs.tar"), content.Layers)
	if err != nil {
		return nil, err
	}
	r := &record{Digest: digest, Name: reference, Env: content.Env, Dir: content.Dir, Config: &content.Config, Source: source}
	if !slices.ContainsFunc(r.Env, func(v string) bool { return strings.HasPrefix(v, "PATH=") }) {
		r.Env = append(r.Env, recipe.Env[0]) // as the engines do
	}
	return r, s.adopt(done, digest)
}

// known finds an image in the store that was made from the same digest, by any
// reference.
func (s *Store) known(reference, source string) *record {
	for _, path := range s.files.Glob("references/*.json") {
		if r := s.readRecord(path); r != nil && r.Source == source && r.Config != nil {
			r.Name = reference
			return r
		}
	}
	return nil
}

// writeRecordLocked records that a reference points to an image, if that is new.
func (s *Store) writeRecordLocked(ctx context.Context, key string, r record) error {
	path := s.files.Path("references", key+".json")
	if old := s.readRecord(path); old != nil && old.Source == r.Source && old.Digest == r.Digest {
		return nil
	}
	unlock, err := s.files.Lock(ctx, "reference-"+key[:12])
	if err != nil {
		return err
	}
	defer unlock()
	return s.writeRecord(path, r)
}

func referenceKey(reference string) string {
	sum := sha256.Sum256([]byte(reference + " " + origin.Platform.String()))
	return hex.EncodeToString(sum[:])
}
