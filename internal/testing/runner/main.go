// Command runner runs tests as `go test -json` does and prints the same events,
// but in two phases: packages that do not disturb each other in parallel, then one
// at a time those that measure or watch the whole machine (phases.go). All test
// programs are built by then, so that nothing is compiled while something is
// measured.
//
//	runner [-again] [-race] [-run PATTERN] [other flags of go test] [PACKAGES]
//	runner -again-of EVENTS [-race] [other flags of go test]
//
// With -again a test that failed runs once more at the end (again.go); -again-of does
// this alone, for the tests that failed in a file of events of `go test -json`.
//
// It must not know what any test does, except for the lists in phases.go.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// pack is a package with tests.
type pack struct{ ImportPath, Dir string }

// below is the package's path inside the module.
func (p pack) below() string { return strings.TrimPrefix(p.ImportPath, "tare/") }

func main() {
	args := os.Args[1:]
	again, events := len(args) > 0 && args[0] == "-again", ""
	switch {
	case again:
		args = args[1:]
	case len(args) > 1 && args[0] == "-again-of":
		events, args = args[1], args[2:]
	}
	build, test, packages, err := parse(args)
	switch {
	case err != nil:
	case events != "":
		err = runFailed(build, test, events)
	default:
		err = run(build, test, packages, again)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "runner:", err)
		os.Exit(1)
	}
}

// parse splits arguments of go test into the flags that building takes, those
// that a test program takes, and packages.
func parse(args []string) (build, test, packages []string, err error) {
	isBuild := map[string]bool{"race": false, "tags": true, "ldflags": true, "gcflags": true, "mod": true}
	isTest := map[string]bool{"run": true, "skip": true, "count": true, "timeout": true, "parallel": true, "cpu": true, "bench": true, "benchtime": true,
		"short": false, "failfast": false, "v": false, "benchmem": false}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "-") {
			packages = append(packages, arg)
			continue
		}
		name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		takes, toBuild := isBuild[name]
		if !toBuild {
			var known bool
			if takes, known = isTest[name]; !known {
				return nil, nil, nil, fmt.Errorf("the flag %s is not one that runner passes on", arg)
			}
		}
		if takes && !joined {
			if len(args) == 0 {
				return nil, nil, nil, fmt.Errorf("the flag %s has no value", arg)
			}
			value, joined, args = args[0], true, args[1:]
		}
		flag := "-" + name
		if !toBuild {
			flag = "-test." + name
		}
		if joined {
			flag += "=" + value
		}
		switch {
		case toBuild:
			build = append(build, flag)
		case name != "v": // what a test prints is always among the events
			test = append(test, flag)
		}
	}
	if len(packages) == 0 {
		packages = []string{"./..."}
	}
	return build, test, packages, nil
}

// runner is one run of the tests.
type runner struct {
	directory string // of test programs
	build     []string
	test2json string

	output  sync.Mutex
	running sync.Mutex
	groups  map[int]bool // process groups of test programs
	ended   bool         // by a signal
	failed  []failed
}

func run(build, test, patterns []string, again bool) error {
	packages, err := list(build, patterns)
	if err != nil {
		return err
	}
	picked := false
	for _, flag := range test {
		picked = picked || strings.HasPrefix(flag, "-test.run=") || strings.HasPrefix(flag, "-test.skip=") || strings.HasPrefix(flag, "-test.bench=")
	}
	var jobs []job
	for _, p := range packages {
		jobs = append(jobs, jobsOf(p, arguments(test), picked)...)
	}
	return within(build, func(r *runner) {
		r.runAll(packages, jobs)
		if again {
			r.runAgain()
		}
	})
}

// arguments are those of a test program. What the caller says comes last and wins.
func arguments(test []string) []string {
	return append([]string{"-test.v=test2json", "-test.paniconexit0", "-test.count=1", "-test.timeout=30m"}, test...)
}

// within does something with a runner that signals end.
func within(build []string, do func(*runner)) (err error) {
	r := &runner{build: build, groups: map[int]bool{}}
	if r.test2json, err = toolPath("test2json"); err != nil {
		return err
	}
	if r.directory, err = os.MkdirTemp("", "tare-tests-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.directory)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	var passing sync.WaitGroup
	passing.Go(func() {
		for s := range signals {
			r.end(s.(syscall.Signal))
		}
	})
	defer func() {
		signal.Stop(signals)
		close(signals)
		passing.Wait()
	}()
	do(r)
	return nil
}

// runAll builds the programs of the first jobs, and the others while those run: at
// the beginning they wait for downloads and disks.
func (r *runner) runAll(packages []pack, jobs []job) {
	beside, serial := phases(jobs)
	var urgent, others []pack
	for _, p := range packages {
		if slices.ContainsFunc(beside[:min(lanes, len(beside))], func(j job) bool { return j.pkg == p }) {
			urgent = append(urgent, p)
		} else {
			others = append(others, p)
		}
	}
	files := r.programs("first", urgent)
	var building sync.WaitGroup
	var later map[string]string
	building.Go(func() { later = r.programs("others", others) })
	do := func(j job) {
		file, built := files[j.pkg.ImportPath]
		if !slices.Contains(urgent, j.pkg) {
			building.Wait()
			file, built = later[j.pkg.ImportPath]
		}
		if built {
			r.job(j, file)
		}
	}
	each(lanes, beside, do)
	building.Wait()
	each(1, serial, do)
}

// list finds the packages that have tests.
func list(build, patterns []string) (packages []pack, err error) {
	args := append([]string{"list", "-f", `{{if or .TestGoFiles .XTestGoFiles}}{"ImportPath":{{printf "%q" .ImportPath}},"Dir":{{printf "%q" .Dir}}}{{end}}`}, build...)
	command := exec.Command("go", append(args, patterns...)...)
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(text)); ; {
		var p pack
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages, nil
		} else if err != nil {
			return nil, fmt.Errorf("reading what go list printed: %w", err)
		}
		packages = append(packages, p)
	}
}

func toolPath(name string) (string, error) {
	path, err := exec.Command("go", "tool", "-n", name).Output()
	if err != nil {
		return "", fmt.Errorf("go tool -n %s: %w", name, err)
	}
	return strings.TrimSpace(string(path)), nil
}

// programs builds test programs and returns their files by import path. Packages
// whose program was not built have failed. One call of go builds many, as each call
// reads all packages anew.
func (r *runner) programs(name string, packages []pack) map[string]string {
	files := map[string]string{}
	for n, group := range byName(packages) {
		directory := filepath.Join(r.directory, name+strconv.Itoa(n))
		var paths []string
		for _, p := range group {
			paths = append(paths, p.ImportPath)
		}
		_, err := r.compile(directory+"/", paths...)
		for _, p := range group {
			// It is called as `go test` calls it: messages of the system name it.
			file := filepath.Join(directory, filepath.Base(p.ImportPath)+".test")
			output, failure := "", err
			if err != nil { // which one failed, and why, is in the output of a call for it alone
				output, failure = r.compile(file, p.ImportPath)
			}
			if failure == nil {
				files[p.ImportPath] = file
				continue
			}
			r.print(event{Action: "start", Package: p.ImportPath},
				event{Action: "output", Package: p.ImportPath, Output: output},
				event{Action: "output", Package: p.ImportPath, Output: fmt.Sprintf("FAIL %s [build failed: %v]\n", p.ImportPath, failure)},
				event{Action: "fail", Package: p.ImportPath})
		}
	}
	return files
}

// byName divides packages into groups in each of which no two programs have one name.
func byName(packages []pack) (groups [][]pack) {
	seen := map[string]int{}
	for _, p := range packages {
		name := filepath.Base(p.ImportPath)
		if seen[name] == len(groups) {
			groups = append(groups, nil)
		}
		groups[seen[name]] = append(groups[seen[name]], p)
		seen[name]++
	}
	return groups
}

// compile builds test programs and returns what was printed.
func (r *runner) compile(to string, paths ...string) (string, error) {
	// -s and -w leave out the tables of debuggers, half of what the linker writes.
	args := append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", "-o", to}, r.build...)
	command := exec.Command("go", append(args, paths...)...)
	command.Env = append(os.Environ(), lessCollection()...)
	output, err := command.CombinedOutput()
	return string(output), err
}

// lessCollection is the environment of a compiler that collects garbage less often, which
// takes a sixth less processor time. Test programs have the caller's.
func lessCollection() (variables []string) {
	for name, value := range map[string]string{"GOGC": "400", "GOMEMLIMIT": "2GiB"} {
		if _, set := os.LookupEnv(name); !set {
			variables = append(variables, name+"="+value)
		}
	}
	return variables
}

// job runs a test program to its end. Its events, with the end's, go to the
// standard output.
func (r *runner) job(j job, program string) {
	command := exec.Command(r.test2json, append([]string{"-t", "-p", j.name, program}, j.args...)...)
	command.Dir = j.pkg.Dir
	command.Env = append(os.Environ(), "PWD="+j.pkg.Dir)
	command.Stderr = os.Stderr
	// In a group, so that a signal reaches the test program and not just
	// test2json, which does not forward it.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := command.StdoutPipe()
	if err == nil {
		err = r.start(command)
	}
	if err != nil {
		r.print(event{Action: "start", Package: j.name}, event{Action: "output", Package: j.name, Output: err.Error() + "\n"}, event{Action: "fail", Package: j.name})
		return
	}
	result := outcome{running: map[string]bool{}}
	r.forward(out, &result)
	// How it ended is the last event.
	_ = command.Wait()
	r.running.Lock()
	for _, test := range result.again() {
		r.failed = append(r.failed, failed{j, program, test})
	}
	delete(r.groups, command.Process.Pid)
	r.running.Unlock()
}

var errEnded = errors.New("not run: the tests were interrupted")

func (r *runner) start(command *exec.Cmd) error {
	r.running.Lock()
	defer r.running.Unlock()
	if r.ended {
		return errEnded
	}
	if err := command.Start(); err != nil {
		return err
	}
	r.groups[command.Process.Pid] = true
	return nil
}

// end passes a signal on to all test programs; none starts after it.
func (r *runner) end(s syscall.Signal) {
	r.running.Lock()
	defer r.running.Unlock()
	r.ended = true
	for group := range r.groups {
		_ = syscall.Kill(-group, s)
	}
}

// forward copies lines, each whole, since two programs print at the same time, and
// reads the events.
func (r *runner) forward(from io.Reader, result *outcome) {
	var rest []byte
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		rest = append(rest, buffer[:n]...)
		if end := bytes.LastIndexByte(rest, '\n') + 1; end > 0 {
			r.output.Lock()
			os.Stdout.Write(rest[:end])
			r.output.Unlock()
			for line := range bytes.Lines(rest[:end]) {
				result.line(line)
			}
			rest = append(rest[:0], rest[end:]...)
		}
		if err != nil {
			return
		}
	}
}

// event is what `go test -json` prints; `go doc test2json` describes it.
type event struct {
	Action, Package string
	Output          string `json:",omitempty"`
}

func (r *runner) print(events ...event) {
	r.output.Lock()
	defer r.output.Unlock()
	encoder := json.NewEncoder(os.Stdout)
	for _, e := range events {
		_ = encoder.Encode(e)
	}
}

// each does something with every item, n of them at the same time.
func each[T any](n int, items []T, do func(T)) {
	queue := make(chan T)
	var workers sync.WaitGroup
	for range n {
		workers.Go(func() {
			for item := range queue {
				do(item)
			}
		})
	}
	for _, item := range items {
		queue <- item
	}
	close(queue)
	workers.Wait()
}
