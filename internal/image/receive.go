package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
)

var digestRule = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// Receive finds an image that was built elsewhere, or reads its tar from send
// and stores it under its digest, which is verified. send is called only if the
// store does not have the image, and by one caller at a time.
func (s *Store) Receive(ctx context.Context, made Image, send func() (io.Reader, error)) (*Image, error) {
	if !digestRule.MatchString(made.Digest) {
		return nil, fmt.Errorf("image %s: %q is not a digest", made.Name, made.Digest)
	}
	r := record{Digest: made.Digest, Name: made.Name, Env: made.Env, Dir: made.Dir, Config: &made.Config}
	err := s.once(ctx, "image-"+short(made.Digest), s.path("images", hexOf(made.Digest)), func(temporary string) error {
		from, err := send()
		if err != nil {
			return err
		}
		if err := os.Mkdir(temporary, 0o755); err != nil {
			return fmt.Errorf("image store: %w", explain(err))
		}
		f, err := os.Create(filepath.Join(temporary, "rootfs.tar"))
		if err != nil {
			return fmt.Errorf("image store: %w", explain(err))
		}
		defer f.Close()
		sum := sha256.New()
		b, err := newBudget(temporary)
		if err != nil {
			return err
		}
		if err := b.copy(io.MultiWriter(f, sum), contextReader{ctx, from}); err != nil {
			return fmt.Errorf("receiving image %s: %w", made.Name, err)
		}
		if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != made.Digest {
			return fmt.Errorf("receiving image %s: the data has the digest %s, not %s", made.Name, short(got), short(made.Digest))
		}
		if err := f.Close(); err != nil {
			return fmt.Errorf("image store: %w", explain(err))
		}
		if err := normal(ctx, f.Name(), made.Digest); err != nil {
			return fmt.Errorf("receiving image %s: %w", made.Name, err)
		}
		// The name, for listings.
		return s.writeRecord(s.path("references", "received-"+short(r.Digest)+".json"), r)
	})
	if err != nil {
		return nil, err
	}
	return s.image(r), nil
}

// normal refuses a root file system that is not packed as tare packs them: its names lead
// within the root, its links lead to what is there, and it is as large as it says.
func normal(ctx context.Context, path, digest string) error {
	got, err := flatten(ctx, []string{path}, io.Discard, unwritten())
	if err != nil {
		return err
	}
	if got != digest {
		return fmt.Errorf("the data is no root file system as tare packs it, which would have the digest %s, and not %s", short(got), short(digest))
	}
	return nil
}
