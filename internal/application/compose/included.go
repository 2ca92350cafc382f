package compose

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"

	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
)

// remote refuses what Compose would fetch: include and extends of Git repositories and
// OCI artifacts.
type remote struct{}

// Accept says whether a path is that of something remote.
func (remote) Accept(path string) bool {
	return strings.Contains(path, "://") || strings.HasPrefix(path, "git@") || strings.HasPrefix(path, "oci:") ||
		strings.HasPrefix(path, "github.com/") || strings.Contains(path, ".git#") || strings.HasSuffix(path, ".git")
}

// Load refuses it.
func (remote) Load(_ context.Context, path string) (string, error) {
	return "", fmt.Errorf("%s is not a file of this machine, and nothing is fetched: download it and give its path", path)
}

// Dir is not asked for what was refused.
func (remote) Dir(path string) string { return path }

// included finds the files that the given ones include and extend.
type included struct {
	options func(*loader.Options)
	seen    map[string]bool
	size    *quantity.Bytes // of all files, each once more for each service that extends one in it
}

// checkIncluded looks at the files that the given ones include and extend before the
// library reads them, which it does without a limit.
func (r *reader) checkIncluded(ctx context.Context, options func(*loader.Options)) error {
	i := included{options: options, seen: map[string]bool{}, size: new(quantity.Bytes)}
	return i.check(ctx, r.details(), false)
}

// check looks at what some files include and extend. A base is a file of which a service
// is extended alone: what it includes is not read, and it need not be complete.
func (i included) check(ctx context.Context, files types.ConfigDetails, base bool) error {
	model, err := loader.LoadModelWithContext(ctx, files, i.options, func(l *loader.Options) {
		l.SkipInclude, l.SkipExtends, l.SkipNormalization, l.SkipDefaultValues = true, true, true, true
		l.SkipValidation, l.ResolvePaths = base, false
	})
	if err != nil {
		return err
	}
	if list, _ := model["include"].([]any); !base {
		for _, one := range list {
			if err := i.include(ctx, files, one); err != nil {
				return err
			}
		}
	}
	services, _ := model["services"].(map[string]any)
	if len(services) > mostServices {
		return fmt.Errorf("it has %d services, and the limit is %d", len(services), mostServices)
	}
	for _, s := range services {
		service, _ := s.(map[string]any)
		extends, _ := service["extends"].(map[string]any)
		if extends == nil {
			continue
		}
		of := files
		name, _ := extends["file"].(string)
		if (remote{}).Accept(name) {
			continue
		} else if name != "" {
			path := strictyaml.In(files.WorkingDir, name)
			of = types.ConfigDetails{WorkingDir: filepath.Dir(path), ConfigFiles: []types.ConfigFile{{Filename: path}}, Environment: files.Environment}
			if err := i.file(ctx, of, true); err != nil {
				return err
			}
		}
		if err := i.add(of.ConfigFiles); err != nil {
			return err
		}
	}
	return nil
}

// add counts what the library copies.
func (i included) add(files []types.ConfigFile) error {
	for _, f := range files {
		*i.size += quantity.Bytes(len(f.Content))
	}
	if *i.size > mostRead {
		return fmt.Errorf("what it includes and extends has more than %s, counted once for each service that extends another one: divide it", mostRead)
	}
	return nil
}

// include looks at one entry of include.
func (i included) include(ctx context.Context, from types.ConfigDetails, entry any) error {
	one, ok := entry.(map[string]any)
	if !ok {
		one = map[string]any{"path": entry}
	}
	paths, variables := words(one["path"]), words(one["env_file"])
	if len(paths) == 0 || (remote{}).Accept(paths[0]) {
		return nil
	}
	details := types.ConfigDetails{WorkingDir: filepath.Dir(strictyaml.In(from.WorkingDir, paths[0]))}
	if dir, _ := one["project_directory"].(string); dir != "" {
		details.WorkingDir = strictyaml.In(from.WorkingDir, dir)
	}
	for _, path := range paths {
		details.ConfigFiles = append(details.ConfigFiles, types.ConfigFile{Filename: strictyaml.In(from.WorkingDir, path)})
	}
	for n := range variables {
		variables[n] = strictyaml.In(from.WorkingDir, variables[n])
	}
	if own := filepath.Join(details.WorkingDir, ".env"); len(variables) == 0 && exists(own) {
		variables = []string{own}
	}
	for _, path := range variables {
		if _, err := readFile(path); err != nil && path != "/dev/null" {
			return fmt.Errorf("include: %s: %w", path, err)
		}
	}
	more, err := dotenv.GetEnvFromFile(from.Environment, variables)
	if err != nil {
		return err
	}
	details.Environment = from.Environment.Clone().Merge(more)
	return i.file(ctx, details, false)
}

// file looks at files, and at what they include and extend.
func (i included) file(ctx context.Context, files types.ConfigDetails, base bool) error {
	known := true
	for n, f := range files.ConfigFiles {
		content, err := readFile(f.Filename)
		if err != nil {
			return fmt.Errorf("it includes or extends %s: %w", f.Filename, err)
		}
		files.ConfigFiles[n].Content = content
		known = known && i.seen[f.Filename]
		i.seen[f.Filename] = true
	}
	if known {
		return nil
	}
	if err := i.add(files.ConfigFiles); err != nil {
		return err
	}
	if len(i.seen) > mostFiles {
		return fmt.Errorf("it includes and extends more than %d files", mostFiles)
	}
	return i.check(ctx, files, base)
}

// words are the strings of a value that is one string or a list of them.
func words(value any) (all []string) {
	switch v := value.(type) {
	case string:
		return []string{v}
	case []any:
		for _, one := range v {
			if s, ok := one.(string); ok {
				all = append(all, s)
			}
		}
	}
	return all
}
