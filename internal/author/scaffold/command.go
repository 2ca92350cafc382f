package scaffold

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tare/internal/author/bench"
	"tare/internal/base/bounded"
	"tare/internal/base/quantity"
	"tare/internal/study"
	"tare/internal/workload"
)

// scriptLimit is that of files of recipes.
const scriptLimit = quantity.MiB

// FromCommand is the study of a command, with a pack of it.
func (o Options) FromCommand(argv []string) (*Study, error) {
	if err := present(argv); err != nil {
		return nil, err
	}
	t, err := o.begin(strings.Join(argv, " "), "")
	if err != nil {
		return nil, err
	}
	// The file has the study's name, so that two studies of a directory have two packs.
	file := strings.TrimSuffix(o.File, filepath.Ext(o.File)) + "-command.yaml"
	s := &Study{Text: t, Pack: &study.Text{}, PackFile: file}
	o.inputs(t, argv)
	limits(t)
	t.Add("workloads:", "")
	t.Add("  - use: "+study.Quoted("./"+filepath.Base(file)), "the command, as a pack")
	t.Add("    fresh: trial", "each execution in a new instance")
	t.Note("    With block it runs many times in one, which takes less time: for a command that finds after itself what it found before.")
	end(t)
	o.pack(s.Pack, file, argv)
	return s, nil
}

// interpreters are programs whose first argument is the file that they run, or -c and a
// text.
var interpreters = regexp.MustCompile(`^(python|perl|ruby|node|nodejs|php|lua|Rscript|tclsh|sh|dash|bash|zsh|ksh)[0-9.]*$`)

// present refuses the path of a program, or of an interpreter's script, that does not exist.
func present(argv []string) error {
	paths := argv[:1]
	if !strings.ContainsRune(argv[0], '/') {
		paths = nil
	}
	if interpreters.MatchString(filepath.Base(argv[0])) && len(argv) > 1 && !strings.HasPrefix(argv[1], "-") {
		paths = append(slices.Clone(paths), argv[1])
	}
	for _, file := range paths {
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("%s, which the command runs: %w", file, bounded.Cause(err))
		}
	}
	return nil
}

// packName is the name of a pack after a program: my-tool for ./My_Tool.sh.
func packName(program string) string {
	base := filepath.Base(program)
	name := study.DirectoryName(strings.TrimSuffix(base, filepath.Ext(base)), "")
	if name == "" || name[0] < 'a' {
		name = strings.TrimSuffix("command-"+name, "-")
	}
	return name
}

// inputs writes the arguments that are files of this directory or below. The command
// runs in /data, where the copies are. Which files of a directory the command reads, and which a
// text of a shell names, only its user knows.
func (o Options) inputs(t *study.Text, argv []string) {
	var list, open []string
	for _, a := range argv[1:] {
		info, err := os.Stat(a)
		if err != nil || !filepath.IsLocal(a) {
			continue
		}
		from, to := relative(o.File, a), path.Join("/data", a)
		switch one := from + ":" + to; {
		case info.IsDir():
			open = append(open, fmt.Sprintf("each file of %s that it reads, %s/FILE:%s/FILE", a, from, to))
		case info.Mode().IsRegular() && !slices.Contains(list, one):
			list = append(list, one)
		}
	}
	const copies = "copies for each instance"
	switch {
	case len(open) > 0:
		t.Add("inputs:", copies)
		for _, one := range list {
			t.Add("  - "+study.Quoted(one), "")
		}
		for _, what := range open {
			t.Ask("  - "+study.Todo, what)
		}
	case len(list) > 0:
		t.Add("inputs: "+study.FlowList(list), copies)
	}
	if interpreters.MatchString(filepath.Base(argv[0])) && slices.Contains(argv, "-c") {
		t.Note("Files that the text after -c reads belong in inputs:")
		t.Off(`inputs: ["./FILE:/data/FILE"]`, copies)
	}
}

// pack writes the workload.
func (o Options) pack(t *study.Text, file string, argv []string) {
	t.Note("The workload of %s. Check: tare workload check %s. All keys: docs/reference/workloads.md.", filepath.Base(o.File), file)
	t.Add("workload: "+packName(argv[0]), "its name in the report")
	t.Add("title: "+study.Quoted(strings.Join(argv, " ")), "")
	t.Add("stresses: cpu", "or memory, syscalls, disk, network, start")
	argv = slices.Clone(argv)
	t.Add("image:", "")
	argv[0] = o.program(t, argv[0])
	t.Add("driver:", "")
	for n := range argv {
		argv[n] = workload.Literal(argv[n])
	}
	t.Add("  argv: "+study.FlowList(argv), "what is measured")
	t.Add("  dir: /data", "where the copies of inputs are")
	t.Add("  role: driver", "what cores and places are given by")
	t.Off("setup: [{run: \"...\", dir: /data, role: driver}]", "before each execution")
	t.Add("metrics:", "")
	t.Add("  - {name: wall_seconds, unit: s, better: lower, primary: true}", "")
	t.Add("  - {name: user_seconds, unit: s, better: lower}", "")
	t.Add("  - {name: system_seconds, unit: s, better: lower}", "")
	t.Add("  - {name: max_rss, unit: B, better: lower}", "the peak memory")
	t.Note("Figures of its output decide in place of the time, from JSON or from text:")
	t.Off("  - {name: rate, unit: op/s, better: higher, primary: true, field: rate}", "")
	t.Off("parser: {json: true}", "field is a path in the output")
	t.Off("  - {name: rate, unit: op/s, better: higher, primary: true}", "")
	t.Off(`parser: {regex: ['(?m)^rate: (?P<rate>[0-9.]+)$']}`, "a group for each")
}

// program writes where the program of the command comes from, and returns its name
// inside: a package, or a script of this machine.
func (o Options) program(t *study.Text, program string) string {
	packages, err := bench.PackageOf(program)
	if err == nil {
		t.Add("  packages: "+study.FlowList(packages), "of the distribution, with the command")
		return program
	}
	from := relative(o.File, program)
	text, readErr := bounded.ReadFile(program, scriptLimit)
	if readErr != nil || !utf8.Valid(text) || !strings.ContainsRune(program, '/') || !filepath.IsLocal(from) {
		t.Ask("  packages: TODO", "[NAME], the package that has "+program)
		return program
	}
	inside := "/usr/local/bin/" + filepath.Base(program)
	if packages, err := bench.PackageOf(interpreter(text)); err == nil {
		t.Add("  packages: "+study.FlowList(packages), "what the script needs")
	} else {
		t.Ask("  packages: TODO", "[NAME], what the script needs")
	}
	t.Add("  files:", "")
	t.Add("    - path: "+study.Quoted(inside), "")
	t.Add("      from: "+study.Quoted(from), "a copy of it, when the image is made")
	t.Add("      mode: 0755", "")
	return inside
}

// interpreter is the program that a script names in its first line.
func interpreter(script []byte) string {
	line, _, _ := strings.Cut(string(script), "\n")
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	switch {
	case !strings.HasPrefix(line, "#!") || len(words) == 0:
		return "sh"
	case filepath.Base(words[0]) == "env" && len(words) > 1:
		return words[len(words)-1]
	}
	return words[0]
}
