// Package observe reports what the kernel shows to a process of the instance:
// contents of files and targets of symbolic links, uninterpreted. The host
// interprets them, so that this can be tested on recorded data of other kernels.
package observe

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"syscall"
)

// maxFileBytes bounds how much of a file is read.
const maxFileBytes = 256 << 10

// ReadPaths writes the contents of files and targets of links as JSON. Paths that
// cannot be read are omitted.
func ReadPaths(paths []string, to io.Writer) error {
	seen := map[string]string{}
	for _, path := range paths {
		if target, err := os.Readlink(path); err == nil {
			seen[path] = target
		} else if text, err := read(path); err == nil {
			seen[path] = strings.ToValidUTF8(text, "?")
		}
	}
	return json.NewEncoder(to).Encode(seen)
}

func read(path string) (string, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe has no end to wait for
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFileBytes))
	return string(text), err
}
