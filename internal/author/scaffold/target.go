package scaffold

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// composeFiles are the names that Compose looks for, in its order.
var composeFiles = []string{"compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"}

// ComposeFile says whether an argument is a file of an application, or a directory that has a
// Compose file or manifests, and where they are. What is neither is a reference of an image.
func ComposeFile(argument string) (paths []string, is bool, err error) {
	extension := filepath.Ext(argument)
	info, failed := os.Stat(argument)
	isFile := failed == nil && info.Mode().IsRegular()
	switch {
	case failed == nil && info.IsDir():
		paths, err := inDirectory(argument)
		if isPath := argument == "." || argument == ".." || strings.ContainsRune(argument, '/'); err != nil && !isPath {
			return nil, false, nil // an image of the same name
		}
		return paths, true, err
	case isFile && extension == ".tar":
		return nil, false, fmt.Errorf("%s is a file: if it is an image as docker save writes it, write tar:%s", argument, argument)
	case extension == ".yaml" || extension == ".yml":
		return []string{argument}, true, nil
	case isFile && (filepath.Base(argument) == "Dockerfile" || extension == ".Dockerfile"):
		return nil, false, fmt.Errorf("%s is a Dockerfile: build its image, docker build -t NAME -f %s %s, then `tare init docker-daemon:NAME`", argument, argument, filepath.Dir(argument))
	case isFile:
		return nil, false, fmt.Errorf("%s is a file: for a command write `tare init -- %s`, and for an image of this name %s:TAG", argument, dotted(argument), filepath.Base(argument))
	}
	return nil, false, nil
}

// dotted is a path as a shell takes it for one.
func dotted(path string) string {
	if strings.ContainsRune(path, '/') {
		return path
	}
	return "./" + path
}

// inDirectory is the Compose file of a directory or, as kubectl apply -f DIRECTORY takes them,
// its manifests.
func inDirectory(dir string) ([]string, error) {
	for _, name := range composeFiles {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return []string{filepath.Join(dir, name)}, nil
		}
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*.*")) // of a valid pattern
	if files = slices.DeleteFunc(files, func(file string) bool {
		return !slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(file)) || !isManifest(file)
	}); len(files) > 0 {
		return files, nil
	}
	if _, err := os.Stat(filepath.Join(dir, "Dockerfile")); err == nil {
		return nil, fmt.Errorf("%s has a Dockerfile and no Compose file: build its image, docker build -t NAME %s, then `tare init docker-daemon:NAME`", dir, dir)
	}
	return nil, fmt.Errorf("%s has no Compose file (%s) and no manifests", dir, joined(composeFiles, "or"))
}

// Suggest says what tare init would take in a directory, where nothing is named.
func Suggest(dir string) error {
	const forms = "name an image, a Compose file, or a command after --"
	path, err := inDirectory(dir)
	if err == nil {
		if here := filepath.Base(path[0]); len(path) == 1 {
			return fmt.Errorf("%s; here is %s: `tare init %s`", forms, here, here)
		}
		return fmt.Errorf("%s; here are manifests: `tare init .`", forms)
	}
	if _, failed := os.Stat(filepath.Join(dir, "Dockerfile")); failed == nil {
		return fmt.Errorf("%s; here is a Dockerfile: docker build -t NAME %s, then `tare init docker-daemon:NAME`", forms, dir)
	}
	return errors.New(forms)
}
