// Package observe says what the kernel shows to a process of the instance: the
// texts of files and what links lead to, as they are. What they mean is for the
// host to say, so that it can be tested on what other kernels showed.
package observe

import (
	"encoding/json"
	"io"
	"os"
	"strings"
)

// most is how much of a file is read.
const most = 256 << 10

// ReadPaths reads each path. What cannot be read is left out.
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
	file, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most))
	return string(text), err
}
