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
	"tare/internal/image/rootfs"
	"tare/internal/image/store"
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
	err := s.files.Once(ctx, "image-"+store.Short(made.Digest), s.files.Path("images", hexOf(made.Digest)), func(temporary string) error {
		from, err := send()
		if err != nil {
			return err
		}
		if err := os.Mkdir(temporary, 0o755); err != nil {
			return fmt.Errorf("image store: %w", store.Explain(err))
		}
		f, err := os.Create(filepath.Join(temporary, "rootfs.tar"))
		if err != nil {
			return fmt.Errorf("image store: %w", store.Explain(err))
		}
		defer f.Close()
		sum := sha256.New()
		b, err := rootfs.NewBudget(temporary)
		if err != nil {
			return err
		}
		if err := b.Copy(io.MultiWriter(f, sum), rootfs.Cancelable(ctx, from)); err != nil {
			return fmt.Errorf("receiving image %s: %w", made.Name, err)
		}
		if got := "sha256:" + hex.EncodeToString(sum.Sum(nil)); got != made.Digest {
			return fmt.Errorf("receiving image %s: the data has the digest %s, not %s", made.Name, store.Short(got), store.Short(made.Digest))
		}
		if err := f.Close(); err != nil {
			return fmt.Errorf("image store: %w", store.Explain(err))
		}
		if err := rootfs.Verify(ctx, f.Name(), made.Digest); err != nil {
			return fmt.Errorf("receiving image %s: %w", made.Name, err)
		}
		// The name, for listings.
		return s.writeRecord(s.files.Path("references", "received-"+store.Short(r.Digest)+".json"), r)
	})
	if err != nil {
		return nil, err
	}
	return s.image(r), nil
}
