package rundir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tare/internal/base/bounded"
	"tare/internal/linux/beneath"
)

// A run directory can be anybody's: its files are opened beneath it, whatever links it
// has, and only regular ones.

// within calls do with the directory as the root of names.
func within(directory string, do func(*os.Root) error) error {
	root, err := os.OpenRoot(directory)
	if err != nil {
		return err
	}
	defer root.Close()
	err = do(root)
	if wrong := (*fs.PathError)(nil); errors.As(err, &wrong) {
		wrong.Path = filepath.Join(directory, wrong.Path)
		if strings.HasSuffix(wrong.Err.Error(), "path escapes from parent") { // package os has no name for it
			wrong.Err = errors.New("a link on the way leads out of the run, and tare follows none: replace it by the directory")
		}
	}
	return err
}

func openFile(directory, name string, flag int) (file *os.File, err error) {
	err = within(directory, func(root *os.Root) error {
		if flag&os.O_CREATE != 0 {
			if info, err := root.Lstat(name); err == nil && info.Mode()&fs.ModeSymlink != 0 && flag&os.O_EXCL == 0 {
				return fmt.Errorf("%s is a link, and tare writes through none: remove it", filepath.Join(directory, name))
			}
			if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				return err
			}
		}
		file, err = beneath.Regular(root, name, flag)
		if wrong := (*fs.PathError)(nil); errors.As(err, &wrong) {
			wrong.Op = "open"
			if target, linked := root.Readlink(name); linked == nil && !errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%s is a link to %s, and tare follows none out of a run: replace it by the file", filepath.Join(directory, wrong.Path), target)
			}
		}
		return err
	})
	return file, err
}

func readDir(directory, name string) (list []fs.DirEntry, err error) {
	err = within(directory, func(root *os.Root) error {
		list, err = fs.ReadDir(root.FS(), name)
		return err
	})
	return list, err
}

// readFile reads a file of a run directory of at most bounded.Line bytes.
func readFile(directory, name string) ([]byte, error) {
	file, err := openFile(directory, name, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := bounded.ReadAll(file, bounded.Line)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(directory, name), err)
	}
	return data, nil
}

// Replace writes a file into a directory atomically: after a kill it is either the old
// or the new one. A link of that name is replaced, not followed.
func Replace(directory, name string, data []byte, mode fs.FileMode) error {
	return within(directory, func(root *os.Root) error {
		parent := filepath.Dir(name)
		if err := root.MkdirAll(parent, 0o755); err != nil {
			return err
		}
		unfinished := filepath.Join(parent, newPrefix+rand.Text())
		file, err := root.OpenFile(unfinished, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err
		}
		_, err = file.Write(data)
		err = errors.Join(err, file.Sync(), file.Close())
		if err == nil {
			err = root.Rename(unfinished, name)
		}
		if err != nil {
			_ = root.Remove(unfinished)
		}
		return err
	})
}
