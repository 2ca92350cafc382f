package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/image/store"
)

// Entry is one image in the store.
type Entry struct {
	Digest string `json:"digest"`
	// Names are the recipes and references that resolve to it.
	Names []string `json:"names"`
	// Size is the disk usage of the image with all its forms.
	Size quantity.Bytes `json:"size"`
	// Forms are those made so far, with their disk usage.
	Forms map[string]quantity.Bytes `json:"forms"`
	Made  time.Time                 `json:"made"`
}

// forms are the names of an image's files for users.
var forms = map[string]string{"rootfs.tar": "tar", "folder": "folder", "disk.ext4": "disk"}

// List returns the images of the store, the newest first.
func (s *Store) List() ([]Entry, error) {
	directories, err := os.ReadDir(s.files.Path("images"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("image store: %w", store.Explain(err))
	}
	names := s.names()
	entries := []Entry{}
	for _, f := range directories {
		if strings.HasPrefix(f.Name(), ".") {
			continue // being made, or being removed
		}
		digest := "sha256:" + f.Name()
		dir := s.files.Path("images", f.Name())
		e := Entry{Digest: digest, Names: names[digest], Forms: map[string]quantity.Bytes{}, Made: store.Modified(filepath.Join(dir, "rootfs.tar"))}
		parts, err := os.ReadDir(dir)
		if err != nil {
			continue // removed meanwhile
		}
		for _, part := range parts {
			size := quantity.Bytes(diskUsage(filepath.Join(dir, part.Name())))
			e.Size += size
			name := part.Name()
			if strings.HasPrefix(name, "folder-") { // without root: see Directory
				name = "folder"
			}
			if form, ok := forms[name]; ok {
				e.Forms[form] += size
			}
		}
		entries = append(entries, e)
	}
	sort.SliceStable(entries, func(i, j int) bool { return entries[i].Made.After(entries[j].Made) })
	return entries, nil
}

func (s *Store) names() map[string][]string {
	names := map[string][]string{}
	for _, path := range s.records() {
		var r record
		if json.Unmarshal([]byte(store.ReadText(path)), &r) == nil && !slices.Contains(names[r.Digest], r.Name) {
			names[r.Digest] = append(names[r.Digest], r.Name)
		}
	}
	for _, list := range names {
		sort.Strings(list)
	}
	return names
}

func (s *Store) records() []string {
	return append(s.files.Glob("recipes/*.json"), s.files.Glob("references/*.json")...)
}

// Stored returns the image whose digest begins with the prefix, as it was resolved last.
func (s *Store) Stored(prefix string) (*Image, error) {
	found, err := s.Find(prefix)
	if err != nil {
		return nil, err
	}
	for _, path := range s.records() {
		if r := s.readRecord(path); r != nil && r.Digest == found.Digest {
			return s.image(*r), nil
		}
	}
	return nil, &PrefixError{fmt.Sprintf("no recipe or reference in the store %s leads to image %s any more: run the study again", s.files.Path(), found.Digest)}
}

// PrefixDigits is how many digits of a digest name an image at the least.
const PrefixDigits = 12

// PrefixError is the error of a prefix that does not name one image.
type PrefixError struct{ message string }

func (e *PrefixError) Error() string { return e.message }

// Find returns the image whose digest begins with the prefix. It is the only one, and
// the prefix has at least PrefixDigits digits.
func (s *Store) Find(prefix string) (Entry, error) {
	entries, err := s.List()
	if err != nil {
		return Entry{}, err
	}
	entries = lists.Filter(entries, func(e Entry) bool { return strings.HasPrefix(e.Digest, prefix) })
	enough := len(prefix) >= len("sha256:")+PrefixDigits
	switch {
	case len(entries) == 1 && enough:
		return entries[0], nil
	case len(entries) == 0:
		return Entry{}, &PrefixError{fmt.Sprintf("there is no image %q in the store %s; `tare ls images` lists them", prefix, s.files.Path())}
	}
	problem := fmt.Sprintf("%d images begin with it", len(entries))
	if !enough {
		problem = fmt.Sprintf("write at least %d digits of the digest", PrefixDigits)
	}
	candidates := lists.Map(entries[:min(len(entries), 8)], func(e Entry) string { return e.Digest })
	return Entry{}, &PrefixError{fmt.Sprintf("%s does not name one image: %s; candidates: %s", prefix, problem, strings.Join(candidates, ", "))}
}

// Remove deletes an image and all its forms from the store.
func (s *Store) Remove(digest string) error {
	dir := s.files.Path("images", hexOf(digest))
	if err := store.NoMounts(dir); err != nil {
		return fmt.Errorf("image %s is in use: %w", store.Short(digest), err)
	}
	unlock, ok := s.files.Idle("removing-" + store.Short(digest))
	if !ok {
		return fmt.Errorf("image %s is being removed by another process", store.Short(digest))
	}
	defer unlock()
	// Renamed first, so that no process finds a partly deleted image.
	gone := s.files.Path("images", ".removing-"+store.Short(digest))
	if err := store.Discard(gone); err != nil {
		return fmt.Errorf("image %s: %w", store.Short(digest), err)
	}
	if err := os.Rename(dir, gone); err != nil {
		return fmt.Errorf("image %s: %w", store.Short(digest), store.Explain(err))
	}
	for _, path := range s.records() {
		var r record
		if json.Unmarshal([]byte(store.ReadText(path)), &r) == nil && r.Digest == digest {
			if err := os.Remove(path); err != nil {
				return fmt.Errorf("image %s: %w", store.Short(digest), store.Explain(err))
			}
		}
	}
	if err := store.Discard(gone); err != nil {
		return err
	}
	s.forgetMachines()
	return s.removeFetched()
}

// removeFetched deletes dependencies that no image in the store needs, and with the last
// recipe the bases.
func (s *Store) removeFetched() error {
	used := map[string]bool{}
	for _, path := range s.records() {
		var r record
		if json.Unmarshal([]byte(store.ReadText(path)), &r) != nil || r.Recipe == nil {
			continue
		}
		for _, f := range r.Recipe.Fetch {
			used[f.Kept()] = true
		}
	}
	kept := s.files.Glob("fetched/*.tar")
	if len(s.files.Glob("recipes/*.json")) == 0 {
		kept = append(kept, s.files.Glob("bases/*.tar")...)
	}
	for _, path := range kept {
		if used[filepath.Base(path)] {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("fetched dependencies: %w", store.Explain(err))
		}
	}
	return nil
}

// Sweep deletes what killed builds left, and returns a line for each. It does
// not touch files that a running process works on.
func (s *Store) Sweep() ([]string, error) { return s.eachHalfMade(store.Discard) }

// HalfMade returns the lines of Sweep, and deletes nothing.
func (s *Store) HalfMade() ([]string, error) {
	return s.eachHalfMade(func(string) error { return nil })
}

func (s *Store) eachHalfMade(do func(path string) error) ([]string, error) {
	var swept []string
	for pattern, lock := range map[string]func(key, dir string) string{
		"images/.building-*":         func(key, _ string) string { return "recipe-" + key },
		"images/.pulling-*":          func(key, _ string) string { return "reference-" + key },
		"images/.removing-*":         func(key, _ string) string { return "removing-" + key },
		"images/.making-*":           func(key, _ string) string { return "image-" + store.Short(key) },
		"images/*/.making-folder*":   func(key, dir string) string { return key + "-" + store.Short(dir) },
		"images/*/.making-disk.ext4": func(_, dir string) string { return "disk-" + store.Short(dir) },
		"fetched/.making-*":          func(key, _ string) string { return "fetch-" + strings.TrimSuffix(key, ".work") },
		"bases/.making-*":            func(key, _ string) string { return "base-" + key },
		"kernels/.making-*":          func(string, string) string { return "kernel" },
		"kernels/.apt-*":             func(key, _ string) string { return "apt-" + key },
		"guests/.making-*":           func(key, _ string) string { return "guest-" + key },
		"machines/.making-*":         func(key, _ string) string { return "machine-" + strings.TrimSuffix(key, ".content") },
	} {
		for _, path := range s.files.Glob(pattern) {
			_, key, _ := strings.Cut(filepath.Base(path), "-")
			unlock, ok := s.files.Idle(lock(key, filepath.Base(filepath.Dir(path))))
			if !ok {
				continue
			}
			err := do(path)
			unlock()
			if err != nil {
				return swept, err
			}
			swept = append(swept, "half-made "+path)
		}
	}
	sort.Strings(swept)
	return swept, nil
}

// diskUsage returns the disk usage of a file or tree. Holes do not count.
func diskUsage(path string) (total int64) {
	_ = eachFile(path, func(_ fs.FileInfo, stat *syscall.Stat_t) { total += stat.Blocks * 512 })
	return total
}

// eachFile calls f for the files of a tree: once for one with several names, and not for
// one that is removed meanwhile.
func eachFile(tree string, f func(fs.FileInfo, *syscall.Stat_t)) error {
	seen := map[uint64]bool{}
	return filepath.WalkDir(tree, func(_ string, entry fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil {
			info, err = entry.Info()
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && !seen[stat.Ino] {
			seen[stat.Ino] = true
			f(info, stat)
		}
		return nil
	})
}
