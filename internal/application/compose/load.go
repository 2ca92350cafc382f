// Package compose reads a Compose file, with the Compose project's own library, into an
// application.Application.
//
// It must not know environments, studies or packs, and it starts nothing.
package compose

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/compose-spec/compose-go/v2/consts"
	"github.com/compose-spec/compose-go/v2/dotenv"
	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/sirupsen/logrus"

	"tare/internal/application"
	"tare/internal/base/bounded"
	"tare/internal/base/crash"
	"tare/internal/base/quantity"
)

// Bounds of what is read for one application. Compose files have some hundred lines, and
// what the library does with them grows faster than they do.
const (
	fileLimit    = quantity.MiB
	mostFiles    = 100
	mostServices = 500
	mostUses     = 2000    // of variables in one file
	mostNested   = 16      // defaults of variables in defaults: ${A:-${B}}
	mostPaths    = 100_000 // along depends_on, all of which the library follows
)

// Options say which application Load reads.
type Options struct {
	Files    []string // each merged into those before it; relative paths are relative to the first one
	Profiles []string // nil: those of COMPOSE_PROFILES
	EnvFiles []string // nil: .env next to the first file, if it is there
	Environ  []string // the environment for ${NAME}, as os.Environ has it
}

// reader reads one application.
type reader struct {
	name  string // of the first file, as the user wrote it
	dir   string
	files []types.ConfigFile
	env   types.Mapping
	given map[string]bool // the variables of the environment, without those of .env
}

// Load reads an application and starts nothing. What is not a Compose file is an error; what
// an environment may lack is in each service's Asks.
func Load(ctx context.Context, o Options) (*application.Application, error) {
	type loaded struct {
		app *application.Application
		err error
	}
	done := make(chan loaded, 1)
	crash.Go(func() {
		app, err := loadAll(ctx, o)
		done <- loaded{app, err}
	})
	select {
	case l := <-done:
		return l.app, l.err
	case <-ctx.Done(): // of which the library takes no notice
		return nil, ctx.Err()
	}
}

func loadAll(ctx context.Context, o Options) (app *application.Application, err error) {
	if len(o.Files) == 0 {
		return nil, errors.New("no Compose file is given")
	}
	r := &reader{name: o.Files[0]}
	defer func() {
		// The library expects shapes that it does not check everywhere.
		if p := recover(); p != nil {
			app, err = nil, r.problemf("the Compose library cannot read it: %v; does docker compose config read it?", p)
		}
	}()
	if err := r.open(o); err != nil {
		return nil, err
	}
	options := func(l *loader.Options) {
		shortRanges(l)
		l.SetProjectName(loader.NormalizeProjectName(filepath.Base(r.dir)), false)
		if name := r.env[consts.ComposeProjectName]; name != "" {
			l.SetProjectName(name, true)
		}
		l.Profiles = o.Profiles
		if o.Profiles == nil {
			l.Profiles = strings.FieldsFunc(r.env[consts.ComposeProfiles], func(c rune) bool { return c == ',' || c == ' ' })
		}
		l.ResourceLoaders = []loader.ResourceLoader{remote{}}
		// The files of variables are read below, when their sizes are known. Labels
		// have no effect.
		l.SkipResolveEnvironment, l.SkipResolveLabels = true, true
	}
	var project *types.Project
	var found []loader.UnsupportedAttribute
	warned := quietly(func() {
		if err = r.checkIncluded(ctx, options); err != nil {
			return
		}
		if err = r.checkPaths(ctx, options); err != nil {
			return
		}
		project, err = loader.LoadWithContext(ctx, r.details(), options,
			loader.WithUnsupportedAttributesCheck(patterns(), nil),
			loader.WithSupportedAttributes(supported(), func(all []loader.UnsupportedAttribute) { found = all }))
		if err == nil {
			project, err = r.withVariables(project)
		}
	})
	if err != nil {
		return nil, r.problem(err)
	}
	app, err = r.application(project, found)
	if err != nil {
		return nil, err
	}
	app.Notes = append(app.Notes, warned...)
	return app, nil
}

// open reads the files, and the variables for what they interpolate.
func (r *reader) open(o Options) error {
	for _, name := range o.Files {
		path, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		content, err := readFile(path)
		if err != nil {
			return fmt.Errorf("Compose file %s: %w", name, err)
		}
		r.files = append(r.files, types.ConfigFile{Filename: path, Content: content})
	}
	r.dir = filepath.Dir(r.files[0].Filename)
	r.env, r.given = types.NewMapping(o.Environ), map[string]bool{}
	for name := range r.env {
		r.given[name] = true
	}
	files := o.EnvFiles
	if files == nil {
		if path := filepath.Join(r.dir, ".env"); exists(path) {
			files = []string{path}
		}
	}
	for _, path := range files {
		if _, err := readFile(path); err != nil {
			return fmt.Errorf("file of variables %s: %w", path, err)
		}
	}
	var more map[string]string
	var err error
	quietly(func() { more, err = dotenv.GetEnvFromFile(r.env, files) })
	if err != nil {
		return r.problem(err)
	}
	r.env.Merge(more)
	return nil
}

// details are the files as the library takes them. It adds to the variables.
func (r *reader) details() types.ConfigDetails {
	return types.ConfigDetails{WorkingDir: r.dir, ConfigFiles: r.files, Environment: r.env.Clone()}
}

// withVariables reads the services' files of variables.
func (r *reader) withVariables(p *types.Project) (*types.Project, error) {
	for _, name := range p.ServiceNames() {
		for _, file := range p.Services[name].EnvFiles {
			if !exists(file.Path) && !bool(file.Required) {
				continue
			}
			if _, err := readFile(file.Path); err != nil {
				return nil, fmt.Errorf("services.%s.env_file: %s: %w", name, file.Path, err)
			}
		}
	}
	return p.WithServicesEnvironmentResolved(true)
}

// exists says whether there is something at a path.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

// readFile reads a file that the library may read again: a pipe is none.
func readFile(path string) ([]byte, error) {
	file, err := bounded.Open(path)
	if err != nil {
		return nil, bounded.Cause(err)
	}
	defer file.Close()
	content, err := bounded.ReadAll(file, fileLimit)
	if err != nil {
		return nil, err
	}
	if n := bytes.Count(content, []byte("${")); n > mostUses {
		return nil, fmt.Errorf("it has ${NAME} %d times, and the limit is %d", n, mostUses)
	}
	if nested(content) > mostNested {
		return nil, fmt.Errorf("variables in defaults of variables are more than %d deep", mostNested)
	}
	return content, nil
}

// regular says why a file is none that has a content.
func regular(path string) error {
	file, err := bounded.Open(path)
	if err != nil {
		return bounded.Cause(err)
	}
	return file.Close()
}

// nested is how deep variables are in each other.
func nested(content []byte) (deepest int) {
	depth := 0
	for i, c := range content {
		switch {
		case c == '{' && i > 0 && content[i-1] == '$':
			depth++
			deepest = max(deepest, depth)
		case c == '}' && depth > 0:
			depth--
		}
	}
	return deepest
}

// checkPaths counts the paths along depends_on. The library looks for cycles on each, and
// there can be more of them than anybody waits for.
func (r *reader) checkPaths(ctx context.Context, options func(*loader.Options)) error {
	project, err := loader.LoadWithContext(ctx, r.details(), options, func(l *loader.Options) { l.SkipConsistencyCheck = true })
	if err != nil {
		return err
	}
	paths, under := map[string]int{}, map[string]bool{}
	var count func(name string) int
	count = func(name string) int {
		if n, known := paths[name]; known || under[name] {
			return n // a cycle has an error of its own
		}
		under[name] = true
		n := 1
		for _, next := range project.Services[name].GetDependencies() {
			n = min(n+count(next), mostPaths+1)
		}
		delete(under, name)
		paths[name] = n
		return n
	}
	all := 0
	for _, name := range project.ServiceNames() {
		all += count(name)
	}
	if all > mostPaths {
		return fmt.Errorf("services depend on each other in more than %d ways: leave out from depends_on what others depend on already", mostPaths)
	}
	return nil
}

// collector keeps what a logger is told.
type collector struct{ said []string }

func (*collector) Levels() []logrus.Level { return logrus.AllLevels }

func (c *collector) Fire(e *logrus.Entry) error {
	// The version of a Compose file has had no meaning for years, and half of the
	// files have one.
	if !strings.Contains(e.Message, "`version` is obsolete") && !slices.Contains(c.said, e.Message) {
		c.said = append(c.said, e.Message)
	}
	return nil
}

var logger sync.Mutex

// quietly returns what the library logs meanwhile: it prints otherwise.
func quietly(do func()) []string {
	logger.Lock()
	defer logger.Unlock()
	var c collector
	log := logrus.StandardLogger()
	out, hooks := log.Out, log.ReplaceHooks(logrus.LevelHooks{})
	log.AddHook(&c)
	log.SetOutput(io.Discard)
	defer func() {
		log.SetOutput(out)
		log.ReplaceHooks(hooks)
	}()
	do()
	return c.said
}
