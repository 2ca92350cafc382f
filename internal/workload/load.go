package workload

import (
	"embed"
	"fmt"
	"path"
	"path/filepath"

	"tare/internal/base/bounded"
	"tare/internal/base/strictyaml"
)

//go:embed packs/*.yaml
var packs embed.FS

// Names lists the built-in packs.
func Names() []string { return strictyaml.Names(packs, "packs") }

// Builtin returns a built-in pack.
func Builtin(name string) (*Pack, error) {
	data, err := packs.ReadFile(path.Join("packs", name+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("%s; to use a pack file, give its path, such as ./%s.yaml",
			strictyaml.Unknown("workload", name, Names()), name)
	}
	return Decode("built-in:"+name, data)
}

// Find returns a pack by the path of its file, or a built-in one by its name.
func Find(pathOrName string) (*Pack, error) {
	if strictyaml.IsPath(pathOrName) {
		return Load(pathOrName)
	}
	return Builtin(pathOrName)
}

// Load reads a pack file.
func Load(file string) (*Pack, error) {
	data, err := bounded.ReadFile(file, strictyaml.MaxSize)
	if err != nil {
		return nil, fmt.Errorf("workload pack %s: %w", file, bounded.Cause(err))
	}
	pack, err := Decode(file, data)
	if err != nil {
		return nil, err
	}
	if err := pack.Image.ReadFiles(filepath.Dir(file)); err != nil {
		return nil, fmt.Errorf("workload pack %s: %w", file, err)
	}
	return pack, nil
}

// Decode parses a pack. The error is a strictyaml.Problems with all errors found.
func Decode(file string, data []byte) (*Pack, error) {
	var problems strictyaml.Problems
	root, err := strictyaml.Parse(file, data, &problems)
	if err != nil {
		return nil, err
	}
	if err := strictyaml.Unfinished(file, data); err != nil {
		return nil, err
	}
	pack := &Pack{}
	root.Decode(pack)
	validate(pack, root)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	pack.addErrors()
	return pack, nil
}
