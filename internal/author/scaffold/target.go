package scaffold

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/base/lists"
)

// composeFiles are the names that Compose looks for, in its order.
var composeFiles = []string{"compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"}

// ComposeFile says whether an argument is a Compose file, or a directory that has one,
// and where it is. What is neither is a reference of an image.
func ComposeFile(argument string) (path string, is bool, err error) {
	extension := filepath.Ext(argument)
	info, failed := os.Stat(argument)
	isFile := failed == nil && info.Mode().IsRegular()
	switch {
	case failed == nil && info.IsDir():
		path, err := inDirectory(argument)
		if isPath := argument == "." || argument == ".." || strings.ContainsRune(argument, '/'); err != nil && !isPath {
			return "", false, nil // an image of the same name
		}
		return path, true, err
	case isFile && extension == ".tar":
		return "", false, fmt.Errorf("%s is a file: if it is an image as docker save writes it, write tar:%s", argument, argument)
	case extension == ".yaml" || extension == ".yml":
		return argument, true, nil
	case isFile && (filepath.Base(argument) == "Dockerfile" || extension == ".Dockerfile"):
		return "", false, fmt.Errorf("%s is a Dockerfile: build its image, docker build -t NAME -f %s %s, then `tare init docker-daemon:NAME`", argument, argument, filepath.Dir(argument))
	case isFile:
		return "", false, fmt.Errorf("%s is a file: for a command write `tare init -- %s`, and for an image of this name %s:TAG", argument, dotted(argument), filepath.Base(argument))
	}
	return "", false, nil
}

// dotted is a path as a shell takes it for one.
func dotted(path string) string {
	if strings.ContainsRune(path, '/') {
		return path
	}
	return "./" + path
}

// inDirectory is the Compose file of a directory.
func inDirectory(dir string) (string, error) {
	for _, name := range composeFiles {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.Mode().IsRegular() {
			return filepath.Join(dir, name), nil
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "Dockerfile")); err == nil {
		return "", fmt.Errorf("%s has a Dockerfile and no Compose file: build its image, docker build -t NAME %s, then `tare init docker-daemon:NAME`", dir, dir)
	}
	missing := fmt.Sprintf("%s has no Compose file (%s)", dir, joined(composeFiles, "or"))
	files, _ := filepath.Glob(filepath.Join(dir, "*.y*ml")) // of a valid pattern
	if files = slices.DeleteFunc(files, func(file string) bool { return !isManifest(file) }); len(files) > 0 {
		return "", fmt.Errorf("%s; for its manifests name the files: `tare init %s`", missing, strings.Join(lists.Map(files, dotted), " "))
	}
	return "", errors.New(missing)
}

// Suggest says what tare init would take in a directory, where nothing is named.
func Suggest(dir string) error {
	const forms = "name an image, a Compose file, or a command after --"
	path, err := inDirectory(dir)
	if err == nil {
		return fmt.Errorf("%s; here is %s: `tare init %s`", forms, filepath.Base(path), filepath.Base(path))
	}
	if _, failed := os.Stat(filepath.Join(dir, "Dockerfile")); failed == nil {
		return fmt.Errorf("%s; here is a Dockerfile: docker build -t NAME %s, then `tare init docker-daemon:NAME`", forms, dir)
	}
	return errors.New(forms)
}
