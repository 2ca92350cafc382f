package fingerprint

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/parity"
)

// longest value of a configuration key that is kept as it is.
const longest = 200

// configuration adds each configuration file of the pack, and each key in it; for
// a directory, all files in it.
func (r *reading) configuration() {
	names := map[string]bool{}
	for _, f := range r.Files {
		paths := []string{}
		for path := range r.Texts {
			if path == f.Path || filepath.Dir(path) == f.Path {
				paths = append(paths, path)
			}
		}
		slices.Sort(paths)
		if len(paths) == 0 {
			r.missing("configuration["+f.Role+"/"+filepath.Base(f.Path)+"].path", parity.Inside, "%s: %s", f.Path, r.why(f.Path))
		}
		for _, path := range paths {
			name := f.Role + "/" + filepath.Base(path)
			if names[name] { // another directory has a file of this name
				name = f.Role + path
			}
			names[name] = true
			text := r.plain(r.Texts[path])
			sum := sha256.Sum256([]byte(text))
			r.inside("configuration["+name+"].path", path)
			r.sum("configuration["+name+"].sha256", hex.EncodeToString(sum[:]))
			for key, values := range Settings(path, text) {
				value := strings.Join(values, "; ")
				if len(value) > longest {
					sum := sha256.Sum256([]byte(value))
					value = fmt.Sprintf("%s... (%d bytes, sha256 %x)", value[:longest/2], len(value), sum[:6])
				}
				r.inside("configuration["+name+"]["+bare(key)+"]", value)
			}
		}
	}
}

// bare removes brackets, which delimit the parts of a fact's key.
func bare(key string) string { return strings.NewReplacer("[", "(", "]", ")").Replace(key) }
