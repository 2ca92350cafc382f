package archive

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestAFileIsThereWhenItIsComplete(t *testing.T) {
	for name, create := range map[string]func(string, func(io.Writer) error) error{"without a name": Create, "where every file has one": createNamed} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			path := filepath.Join(directory, "a b.zst")
			failed := errors.New("no space left")
			if err := create(path, func(w io.Writer) error {
				_, err := io.WriteString(w, "half")
				return errors.Join(err, failed)
			}); !errors.Is(err, failed) {
				t.Errorf("the error is %v", err)
			}
			if left, err := os.ReadDir(directory); err != nil || len(left) > 0 {
				t.Errorf("%v is left, %v", left, err)
			}
			whole := func(w io.Writer) error {
				_, err := io.WriteString(w, "whole")
				return err
			}
			if err := create(path, whole); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode() != 0o600 || info.Size() != 5 {
				t.Errorf("the file is %v, %v", info, err)
			}
			if err := create(path, whole); !errors.Is(err, fs.ErrExist) {
				t.Errorf("over a file that exists: %v", err)
			}
		})
	}
}
