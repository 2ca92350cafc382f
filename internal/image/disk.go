package image

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Disk is an ext4 file system in a raw file. It must not be written to.
func (i *Image) Disk(ctx context.Context) (string, error) {
	if err := i.check(); err != nil {
		return "", err
	}
	disk := i.path("disk.ext4")
	if exists(disk) {
		return disk, nil
	}
	folder, err := i.Directory(ctx)
	if err != nil {
		return "", err
	}
	err = i.store.once(ctx, "disk-"+short(i.Digest), disk, func(temporary string) error {
		return makeDisk(ctx, folder, temporary, i.Digest)
	})
	if err != nil {
		return "", fmt.Errorf("disk of image %s: %w", i.Name, err)
	}
	return disk, nil
}

// makeDisk puts a folder into an ext4 file system with the distribution's own
// defaults (journal included), so that it is what the host would have. Its
// identity comes from the digest, and nothing is left to be initialized in the
// background of a measurement.
func makeDisk(ctx context.Context, folder, disk, digest string) error {
	blocks, files, err := measure(folder)
	if err != nil {
		return explain(err)
	}
	size := diskSize(blocks)
	file, err := os.OpenFile(disk, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return explain(err)
	}
	err = file.Truncate(size) // sparse: only what is used takes space
	if closing := file.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return explain(err)
	}
	argv := []string{
		// Spelled out, since mke2fs takes small blocks for small disks.
		"mke2fs", "-q", "-F", "-t", "ext4", "-b", "4096", "-i", "16384", "-I", "256",
		"-L", "tare", "-m", "0",
		"-U", uuid("disk " + digest),
		"-E", "lazy_itable_init=0,lazy_journal_init=0,root_owner=0:0,hash_seed=" + uuid("hash "+digest),
		"-d", folder,
	}
	// mke2fs makes an inode for every 16 KiB; trees of tiny files need more.
	if inodes := files + files/4 + 16384; inodes > size/16384 {
		argv = append(argv, "-N", fmt.Sprint(inodes))
	}
	_, err = tool{
		argv: append(argv, disk),
		env:  []string{"SOURCE_DATE_EPOCH=" + epoch, "E2FSPROGS_FAKE_TIME=" + epoch},
	}.run(ctx)
	return err
}

// diskSize leaves room for the file system's own books and for what a workload
// writes outside of /data, in whole MiB.
func diskSize(content int64) int64 {
	const mib = 1 << 20
	return (content*13/10/mib + 1 + 256) * mib
}

// measure counts what a tree takes in 4 KiB blocks, each hard link once, and
// its files.
func measure(folder string) (size, files int64, err error) {
	seen := map[uint64]bool{}
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			if seen[stat.Ino] {
				return nil
			}
			seen[stat.Ino] = true
		}
		files++
		size += (info.Size() + 4095) / 4096 * 4096
		return nil
	})
	if err != nil {
		return 0, 0, fmt.Errorf("size of %s: %w", folder, err)
	}
	return size, files, nil
}

// uuid is the one that belongs to a text.
func uuid(text string) string {
	sum := sha256.Sum256([]byte(text))
	sum[6] = sum[6]&0x0f | 0x80 // version 8: made by a rule of one's own
	sum[8] = sum[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
