package image

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"tare/internal/image/recipe"
	"tare/internal/image/rootfs"
	"tare/internal/image/store"
	"tare/internal/image/tool"
)

// Disk returns an ext4 file system in a raw file. It must not be written to.
func (i *Image) Disk(ctx context.Context) (string, error) {
	if err := i.check(); err != nil {
		return "", err
	}
	disk := i.path("disk.ext4")
	if store.Exists(disk) {
		return disk, nil
	}
	dir, err := i.asRoot(ctx)
	if err != nil {
		return "", err
	}
	err = i.store.files.Once(ctx, "disk-"+store.Short(i.Digest), disk, func(temporary string) error {
		return makeDisk(ctx, dir, temporary, i.Digest)
	})
	if err != nil {
		return "", fmt.Errorf("disk of image %s: %w", i.Name, err)
	}
	return disk, nil
}

// makeDisk creates an ext4 file system of a directory with the distribution's
// defaults, journal included, as the host would have it. Its UUID derives from
// the digest, and nothing is initialized lazily, in the background of a
// measurement.
func makeDisk(ctx context.Context, dir, disk, digest string) error {
	blocks, files, err := measure(dir)
	if err != nil {
		return store.Explain(err)
	}
	if err := rootfs.Room(filepath.Dir(disk), blocks); err != nil {
		return err
	}
	size := diskSize(blocks)
	file, err := os.OpenFile(disk, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return store.Explain(err)
	}
	err = file.Truncate(size) // sparse: only what is used takes space
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return store.Explain(err)
	}
	argv := []string{
		// Explicit, since mke2fs uses small blocks on small disks.
		"mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-i", "16384", "-I", "256",
		"-L", "tare", "-m", "0",
		"-U", uuid("disk " + digest),
		"-E", "lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0,hash_seed=" + uuid("hash "+digest),
		"-d", dir,
	}
	// By default mke2fs creates an inode per 16 KiB; trees of tiny files need
	// more.
	if inodes := files + files/4 + 16384; inodes > size/16384 {
		argv = append(argv, "-N", fmt.Sprint(inodes))
	}
	_, err = tool.Call{
		Argv: append(argv, disk),
		Env:  []string{"SOURCE_DATE_EPOCH=" + recipe.Epoch, "E2FSPROGS_FAKE_TIME=" + recipe.Epoch},
	}.Run(ctx)
	return err
}

// diskSize adds room for the file system's metadata and for what a workload
// writes outside of /data, rounded to MiB.
func diskSize(content int64) int64 {
	const mib = 1 << 20
	return (content*13/10/mib + 1 + 256) * mib
}

// measure returns the size of a tree in 4 KiB blocks, each hard link counted
// once, and the number of its files.
func measure(dir string) (size, files int64, err error) {
	err = eachFile(dir, func(info fs.FileInfo, _ *syscall.Stat_t) {
		files++
		size += (info.Size() + 4095) / 4096 * 4096
	})
	if err != nil {
		return 0, 0, fmt.Errorf("size of %s: %w", dir, err)
	}
	return size, files, nil
}

func uuid(text string) string {
	sum := sha256.Sum256([]byte(text))
	sum[6] = sum[6]&0x0f | 0x80 // version 8: made by a rule of one's own
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
