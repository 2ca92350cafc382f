package scaffold

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"tare/internal/bench"
	"tare/internal/bounded"
	"tare/internal/quantity"
	"tare/internal/study"
	"tare/internal/workload"
)

// scriptLimit is that of files of recipes.
const scriptLimit = quantity.MiB

// FromCommand is the study of a command, with a pack of it.
func (o Options) FromCommand(argv []string) (*Study, error) {
	title := strings.Join(argv, " ")
	t, err := o.begin(title, "")
	if err != nil {
		return nil, err
	}
	name := packName(argv[0])
	if file := filepath.Base(o.File); strings.TrimSuffix(file, filepath.Ext(file)) == name {
		name += "-command"
	}
	s := &Study{Text: t, Pack: &study.Text{}, PackFile: filepath.Join(filepath.Dir(o.File), name+".yaml")}
	if inputs := o.inputs(argv[1:]); len(inputs) > 0 {
		t.Add("inputs: "+study.FlowList(inputs), "copies for each instance")
	}
	limits(t)
	t.Add("workloads:", "")
	t.Add("  - use: ./"+name+".yaml", "the command, as a pack")
	end(t)
	o.pack(s.Pack, name, argv)
	return s, nil
}

var notInPackNames = regexp.MustCompile(`[^a-z0-9]+`)

// packName is the name of a pack after a program: my-tool for ./My_Tool.sh.
func packName(program string) string {
	base := filepath.Base(program)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	name := strings.Trim(notInPackNames.ReplaceAllString(strings.ToLower(base), "-"), "-")
	if name == "" || name[0] < 'a' {
		name = strings.TrimSuffix("command-"+name, "-")
	}
	return name
}

// inputs are the arguments that are files of this directory or below. Commands run in
// /data, where the copies are.
func (o Options) inputs(arguments []string) (list []string) {
	for _, a := range arguments {
		if info, err := os.Stat(a); err != nil || !info.Mode().IsRegular() || !filepath.IsLocal(a) {
			continue
		}
		if one := relative(o.File, a) + ":/data/" + filepath.Clean(a); !slices.Contains(list, one) {
			list = append(list, one)
		}
	}
	return list
}

// pack writes the workload.
func (o Options) pack(t *study.Text, name string, argv []string) {
	t.Note("The workload of %s. Check: tare workload check %s. All keys: docs/workloads.md.", filepath.Base(o.File), filepath.Join(filepath.Dir(o.File), name+".yaml"))
	t.Add("workload: "+name, "its name in the report")
	t.Add("title: "+study.Quoted(strings.Join(argv, " ")), "")
	t.Add("stresses: cpu", "or memory, syscalls, disk, network, start")
	argv = slices.Clone(argv)
	t.Add("image:", "")
	argv[0] = o.program(t, argv[0])
	t.Add("driver:", "")
	for n := range argv {
		argv[n] = workload.Literal(argv[n])
	}
	t.Add("  argv: "+study.FlowList(argv), "what is measured, in /data")
	t.Add("  role: driver", "what cores and places are given by")
	t.Off("setup: [{run: \"...\", role: driver}]", "before each measurement, unmeasured")
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
