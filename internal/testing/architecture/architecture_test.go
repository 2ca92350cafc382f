// Package architecture holds the tree to the rules that docs/contributing/architecture.md
// states: which package must not import which, and what may happen when a
// package is loaded.
package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rule forbids imports. Patterns are paths below tare/internal, or tare/ where
// they begin with cmd/; "x/..." is x and all below it.
type rule struct {
	from    []string
	except  []string // of from
	not     []string // none of these may be imported, directly or through others
	allowed []string // of not
	direct  bool     // only direct imports count
	why     string
}

var everything = []string{"..."}

var rules = []rule{
	{from: []string{"stats", "base/bounded", "base/lists", "base/quantity", "base/strictyaml", "base/term", "agent/wire", "agent/executable", "base/visible", "base/failing", "workload/parse", "testing/needs"},
		not: everything, allowed: []string{"base/quantity", "base/visible", "base/failing"},
		why: "numbers, text and bytes in and out: usable without the rest"},
	{from: []string{"linux/..."}, not: everything, allowed: []string{"linux/...", "base/quantity", "base/crash", "base/visible"},
		why: "the kernel's interfaces know nothing of what they are used for"},
	{from: []string{"environment/..."}, not: []string{"study/...", "workload/...", "stats/...", "verdict/...", "run/...", "report/..."},
		why: "how an image is run does not depend on what is measured in it"},
	{from: []string{"agent/..."}, not: []string{"environment/...", "image/...", "workload/...", "study/...", "stats/..."},
		why: "the agent is the same in every environment"},
	{from: []string{"image/..."}, not: []string{"environment/...", "workload/...", "study/..."},
		why: "an image is the same for every environment"},
	{from: []string{"image/store", "image/tool", "image/rootfs", "image/debian"}, not: []string{"image/..."}, allowed: []string{"image/store", "image/tool"},
		why: "files, programs and packages are the ground that images are made on"},
	{from: []string{"image/origin", "image/recipe", "image/kernel"}, not: []string{"image", "image/origin", "image/recipe", "image/kernel"},
		why: "an image is fetched, built and booted by rooms that know nothing of each other"},
	{from: []string{"run/trial/..."}, not: []string{"stats/...", "verdict/...", "report/...", "cli/..."}, direct: true,
		why: "a trial is taken without deciding anything"},
	{from: []string{"run/schedule"}, not: []string{"run/..."},
		why: "a simulation drives the schedule without a machine"},
	{from: []string{"attribution/..."}, not: []string{"environment/..."}, allowed: []string{"environment"}, direct: true,
		why: "a kind registers its parts; attribution names no kind"},
	{from: []string{"environment", "run/...", "study/...", "host/..."},
		not:    []string{"environment/bubblewrap", "environment/cloudhypervisor", "environment/containerd", "environment/docker", "environment/firecracker", "environment/gvisor", "environment/kubernetes", "environment/machine", "environment/native", "environment/oci", "environment/qemu", "environment/virtualbox", "environment/vsphere"},
		direct: true, why: "kinds register themselves; only cmd/tare links them in"},
	{from: []string{"..."}, except: []string{"author/bench", "bench", "cmd/tare-agent", "environment/...", "testing/..."}, not: []string{"environment/support/..."}, direct: true,
		why: "support is for kinds, for the agent that makes a root in a user namespace, and for the benchmark that makes their roots by hand"},
	{from: []string{"report/text"}, not: []string{"report/html", "report/markdown", "report/openmetrics"}, why: "formats share the model alone"},
	{from: []string{"report/html"}, not: []string{"report/text", "report/markdown", "report/openmetrics"}, why: "formats share the model alone"},
	{from: []string{"report/markdown"}, not: []string{"report/text", "report/html", "report/openmetrics"}, why: "formats share the model alone"},
	{from: []string{"report/openmetrics"}, not: []string{"report/text", "report/html", "report/markdown"}, why: "formats share the model alone"},
	{from: []string{"report/model"}, not: []string{"report/text", "report/html", "report/markdown", "report/openmetrics", "report"},
		why: "the model does not know how it is shown"},
	{from: []string{"serve/..."}, not: []string{"run/...", "environment/..."}, allowed: []string{"environment"}, direct: true,
		why: "what is served is read from run directories"},
	{from: []string{"..."}, except: []string{"cli", "serve/..."}, not: []string{"serve/..."}, direct: true,
		why: "a command serves, and nothing else needs the index"},
	{from: []string{"..."}, except: []string{"testing/..."}, not: []string{"testing/..."}, direct: true,
		why: "test support is no part of the program"},
	{from: []string{"..."}, except: []string{"cli/...", "cmd/...", "site"}, not: []string{"cli/..."}, direct: true,
		why: "flags in, calls out: nothing calls the command line"},
}

// pkg is what go list says of a package. Imports of tests are not held to the rules.
type pkg struct {
	ImportPath, Dir string
	GoFiles         []string
	Imports, Deps   []string
}

func packages(t *testing.T) (list []pkg) {
	t.Helper()
	command := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports,Deps", "./...")
	command.Dir = filepath.Join("..", "..", "..")
	text, err := command.Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		list = append(list, p)
	}
	if len(list) < 50 {
		t.Fatalf("go list found only %d packages", len(list))
	}
	return list
}

// below is a package's path as rules write it.
func below(path string) (string, bool) {
	if rest, ours := strings.CutPrefix(path, "tare/internal/"); ours {
		return rest, true
	}
	return strings.CutPrefix(path, "tare/")
}

func matches(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if tree, all := strings.CutSuffix(p, "..."); all {
			tree = strings.TrimSuffix(tree, "/")
			return tree == "" || path == tree || strings.HasPrefix(path, tree+"/")
		}
		return path == p
	})
}

// broken lists what a package imports against a rule.
func (r rule) broken(path string, imports []string) (list []string) {
	if !matches(path, r.from) || matches(path, r.except) {
		return nil
	}
	for _, i := range imports {
		other, ours := below(i)
		if ours && other != path && matches(other, r.not) && !matches(other, r.allowed) {
			list = append(list, other)
		}
	}
	return list
}

func TestPackagesImportOnlyWhatTheyMay(t *testing.T) {
	all := packages(t)
	for _, r := range rules {
		applies := false
		for _, p := range all {
			path, ours := below(p.ImportPath)
			if !ours {
				continue
			}
			applies = applies || matches(path, r.from)
			imports := p.Deps
			if r.direct {
				imports = p.Imports
			}
			for _, other := range r.broken(path, imports) {
				t.Errorf("%s imports %s: %s", path, other, r.why)
			}
		}
		if !applies {
			t.Errorf("no package is in %q: the rule is out of date", r.from)
		}
	}
}

func TestARuleFindsWhatItForbids(t *testing.T) {
	r := rule{from: []string{"a/..."}, except: []string{"a/x"}, not: []string{"b/..."}, allowed: []string{"b/y"}}
	for path, want := range map[string]string{"a": "[b b/z]", "a/c": "[b b/z]", "a/x": "[]", "ab": "[]"} {
		if got := fmt.Sprint(r.broken(path, []string{"fmt", "tare/internal/b", "tare/internal/b/y", "tare/internal/b/z", "tare/internal/c"})); got != want {
			t.Errorf("%s: %s, not %s", path, got, want)
		}
	}
}

// loading has the functions named init that do more than register, with the
// reason. The key is the file.
var loading = map[string]string{
	"cmd/tare-agent/main.go":      "keeps the main thread and limits the agent's memory before anything else runs",
	"environment/oci/switches.go": "completes a table of its own",
}

// A package that is loaded registers itself at most. It reads nothing of the host
// and cannot exit, so that every program, test and tool may import it.
func TestLoadingAPackageOnlyRegisters(t *testing.T) {
	used := map[string]bool{}
	for _, p := range packages(t) {
		path, _ := below(p.ImportPath)
		var files []*ast.File
		for _, name := range p.GoFiles {
			parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, parsed)
		}
		functions := functionsOf(files)
		for n, file := range files {
			id := path + "/" + p.GoFiles[n]
			for _, wrong := range atLoad(file, functions) {
				if loading[id] != "" {
					used[id] = true
					continue
				}
				t.Errorf("%s: when the package is loaded, %s", id, wrong)
			}
		}
	}
	for id := range loading {
		if !used[id] {
			t.Errorf("%s needs no exception any more", id)
		}
	}
}

// host are packages whose calls read or change the machine.
var host = []string{"os", "exec", "net", "unix", "syscall", "ioutil", "user", "signal"}

// harmless are calls of them that only make a value.
var harmless = []string{"net.ParseIP", "net.IPv4", "net.CIDRMask", "net.IPv4Mask", "os.Getpagesize", "os.FileMode"}

// functionsOf are a package's functions by name, without methods and init.
func functionsOf(files []*ast.File) map[string]*ast.FuncDecl {
	functions := map[string]*ast.FuncDecl{}
	for _, file := range files {
		for _, d := range file.Decls {
			if f, is := d.(*ast.FuncDecl); is && f.Recv == nil && f.Body != nil && f.Name.Name != "init" {
				functions[f.Name.Name] = f
			}
		}
	}
	return functions
}

// atLoad lists what a file does at load time besides registering. Calls are
// followed into the package's own functions.
func atLoad(file *ast.File, functions map[string]*ast.FuncDecl) (wrong []string) {
	followed := map[string]bool{}
	var follow func(ast.Node) bool
	follow = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit: // runs when it is called
			return false
		case *ast.CallExpr:
			if f, here := n.Fun.(*ast.FuncLit); here {
				ast.Inspect(f.Body, follow)
			}
			name := called(n)
			if f := functions[name]; f != nil && !followed[name] {
				followed[name] = true
				ast.Inspect(f.Body, follow)
			}
			from, _, _ := strings.Cut(name, ".")
			if slices.Contains(host, from) && !slices.Contains(harmless, name) || strings.HasPrefix(name, "log.Fatal") {
				wrong = append(wrong, "a variable calls "+name)
			}
		}
		return true
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == "init" && d.Body != nil {
				for _, s := range d.Body.List {
					if !registers(s) {
						wrong = append(wrong, "init does more than register")
						break
					}
				}
			}
		case *ast.GenDecl:
			if d.Tok == token.VAR {
				ast.Inspect(d, follow)
			}
		}
	}
	return wrong
}

// registers tells a call of a function named Register or register, with whatever
// arguments.
func registers(s ast.Stmt) bool {
	e, is := s.(*ast.ExprStmt)
	if !is {
		return false
	}
	call, is := e.X.(*ast.CallExpr)
	if !is {
		return false
	}
	name := called(call)
	return strings.HasPrefix(strings.ToLower(name[strings.LastIndex(name, ".")+1:]), "register")
}

// called is the name of the function that is called, as x.Y.
func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if x, is := f.X.(*ast.Ident); is {
			return x.Name + "." + f.Sel.Name
		}
		return "." + f.Sel.Name
	}
	return ""
}

func TestWhatHappensAtLoadTimeIsFound(t *testing.T) {
	for text, want := range map[string]string{
		`func init() { environment.Register(environment.Registration{Kind: "a"}) }`:       "[]",
		`func init() { environment.Register(a); os.Exit(1) }`:                             "[init does more than register]",
		`var home, _ = os.UserHomeDir()`:                                                  "[a variable calls os.UserHomeDir]",
		`var home = sync.OnceValue(func() string { h, _ := os.UserHomeDir(); return h })`: "[]",
		`var pattern = regexp.MustCompile("a")`:                                           "[]",
		`var out = os.Stdout`:                                                             "[]",
		`var home = func() string { h, _ := os.UserHomeDir(); return h }()`:               "[a variable calls os.UserHomeDir]",
		`var home = find(); func find() string { return os.Getenv("HOME") }`:              "[a variable calls os.Getenv]",
		`var home = list{find}; func find() string { return os.Getenv("HOME") }`:          "[]",
		`var table = read(); func read() int { log.Fatalln("unreadable"); return 0 }`:     "[a variable calls log.Fatalln]",
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(atLoad(file, functionsOf([]*ast.File{file}))); got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
}

// group is the top directory of a package: what lies below one is one group,
// except for environment and testing, whose parts are layers.
func group(path string) string {
	top, rest, _ := strings.Cut(path, "/")
	switch {
	case top == "environment" && rest != "":
		return "environment/..."
	case slices.Contains([]string{"agent", "attribution", "metrics", "parity", "report", "run", "workload"}, top):
		return path
	}
	return top
}

// Go forbids cycles of packages. Cycles of groups are as hard to read.
func TestGroupsOfPackagesHaveNoCycles(t *testing.T) {
	imports := map[string][]string{}
	for _, p := range packages(t) {
		from, ours := below(p.ImportPath)
		if !ours || strings.HasPrefix(from, "testing/") {
			continue
		}
		for _, i := range p.Imports {
			if to, ours := below(i); ours && group(to) != group(from) && !slices.Contains(imports[group(from)], group(to)) {
				imports[group(from)] = append(imports[group(from)], group(to))
			}
		}
	}
	done := map[string]bool{}
	var visit func(g string, path []string)
	visit = func(g string, path []string) {
		if n := slices.Index(path, g); n >= 0 {
			t.Errorf("a cycle: %s", strings.Join(append(path[n:], g), " → "))
			return
		}
		if done[g] {
			return
		}
		for _, next := range imports[g] {
			visit(next, append(path, g))
		}
		done[g] = true
	}
	for g := range imports {
		visit(g, nil)
	}
}
