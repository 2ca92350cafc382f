package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/internal/environment"
	"tare/internal/workload"
)

// fakeOptions stand for a technology's: a study must not care which.
type fakeOptions struct {
	Network string         `yaml:"network" json:"network"`
	Runtime string         `yaml:"runtime" json:"runtime,omitempty"`
	Memory  quantity.Bytes `yaml:"memory" json:"memory,omitempty"`
	Cache   string         `yaml:"cache" json:"cache,omitempty"`
	Ports   []int          `yaml:"ports" json:"ports,omitempty"`
}

func (o *fakeOptions) Validate() error {
	if o.Network != "bridge" && o.Network != "none" {
		return errors.Join(strictyaml.AtKey("network", "%q is not known: choose one of bridge, none", o.Network))
	}
	return nil
}

func TestMain(m *testing.M) {
	for _, kind := range []string{"native", "docker", "gvisor", "qemu"} {
		r := environment.Registration{Kind: kind, Options: func() any { return &fakeOptions{Network: "bridge"} }}
		r.Capabilities = func(options any) environment.Capabilities {
			o := options.(*fakeOptions)
			c := environment.Capabilities{Hosts: kind == "qemu"}
			if len(o.Ports) > 0 {
				c.PortsOption, c.Ports = "ports", o.Ports
			}
			if kind != "qemu" {
				c.Mounts, c.WhyNoMounts = o.Network != "none", "not with network: none"
			}
			if kind == "docker" || kind == "gvisor" {
				resolved := *o
				resolved.Runtime = kind
				c.MemoryMounts, c.WhyNoMemoryMounts = c.Mounts, c.WhyNoMounts
				c.SharedNetwork, c.Resolved = map[string]string{"bridge": "the engine"}[o.Network], &resolved
			}
			return c
		}
		environment.Register(r)
	}
	os.Exit(m.Run())
}

func resolveText(t *testing.T, text string, over Overrides) (*Plan, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "my study.yaml")
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	file, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Resolve(file, over)
	if err != nil {
		err = errors.New(strings.ReplaceAll(err.Error(), path, "study.yaml"))
	}
	return plan, err
}

const redisStudy = `
study: redis under load
baseline: native
limits: {cpus: 1, memory: 512MiB, pin: {server: [2], driver: [3, 2]}}
environments:
  native: {}
  docker: {}
  docker-none: {kind: docker, network: none}
  vm: {kind: qemu, memory: 768MiB, limits: {memory: 1GiB}}
image: {packages: [strace]}
workloads:
  - use: redis
    clients: [1, 10, 50, 200]
    size: {from: 16, to: 1024, factor: 8}
    requests: 100000
  - {use: sysbench-cpu, threads: {from: 1, to: 4, step: 1.5}, fresh: run}
design:
  order: interleaved
  blocks: {min: 10, max: none}
  margin: 3%
  budget: 5m
`

func TestAStudyBecomesAPlanWithNothingLeftOpen(t *testing.T) {
	// A range that a whole number cannot follow is told, so this one goes first.
	_, err := resolveText(t, redisStudy, Overrides{})
	if err == nil || !strings.Contains(err.Error(), `threads: "2.5" is not a whole number: 1 to 1024 are allowed`) {
		t.Fatalf("a range through 2.5 threads gave %v", err)
	}
	seed := uint64(7)
	plan, err := resolveText(t, strings.Replace(redisStudy, "step: 1.5", "step: 1", 1), Overrides{Seed: &seed})
	if err != nil {
		t.Fatal(err)
	}
	var names, kinds []string
	for _, e := range plan.Environments {
		names, kinds = append(names, e.Name), append(kinds, e.Kind)
	}
	check(t, "the order of the environments", names, []string{"native", "docker", "docker-none", "vm"})
	check(t, "their kinds", kinds, []string{"native", "docker", "docker", "qemu"})
	check(t, "options are complete", string(plan.Environments[1].Options), `{"network":"bridge"}`)
	check(t, "a VM's options", string(plan.Environments[3].Options), `{"network":"bridge","memory":"805306368B"}`)
	check(t, "limits", plan.Limits, environment.Limits{CPUs: 1, Memory: 512 * quantity.MiB, Cores: []int{2, 3}})
	check(t, "an environment's own limits", plan.Environments[3].Limits, environment.Limits{CPUs: 1, Memory: quantity.GiB, Cores: []int{2, 3}})
	var levels []string
	for _, l := range plan.Workloads[0].Levels {
		levels = append(levels, l.Name)
		if len(l.Parameters) != len(plan.Workloads[0].Pack.Parameters) || l.Parameters["requests"] != "100000" {
			t.Errorf("level %s does not have all parameters: %v", l.Name, l.Parameters)
		}
	}
	check(t, "levels multiply", levels, []string{
		"clients=1,size=16", "clients=1,size=128", "clients=1,size=1024", "clients=10,size=16", "clients=10,size=128", "clients=10,size=1024",
		"clients=50,size=16", "clients=50,size=128", "clients=50,size=1024", "clients=200,size=16", "clients=200,size=128", "clients=200,size=1024"})
	check(t, "a step's levels", len(plan.Workloads[1].Levels), 4)
	check(t, "fresh", []string{plan.Workloads[0].Fresh, plan.Workloads[1].Fresh}, []string{"trial", "run"})
	check(t, "what operations cost", costsOf(plan.Workloads[0].Pack), []string{"cpu_per_kop s/kop lower", "memory_per_kop B·s/kop lower",
		"written_per_kop B/kop lower", "switches_per_kop 1/kop lower", "energy_per_kop J/kop lower"})
	check(t, "the image", plan.Image.Recipe.Packages, []string{"redis-server", "redis-tools", "strace", "sysbench"})
	check(t, "the design", plan.Design, Design{Order: "interleaved", Blocks: Blocks{Min: 10, Open: true}, Budget: 5 * 60e9,
		Margin: .03, Confidence: .95, Precision: .25, Family: "metric", Drop: "decided"})
	check(t, "seed and names", []any{plan.Seed, plan.Name, plan.Study, plan.Baseline}, []any{uint64(7), "my-study", "redis under load", "native"})

	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	var back Plan
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	check(t, "a plan read back from its JSON", &back, plan)
	options, err := back.Environments[3].Decode()
	if err != nil {
		t.Fatal(err)
	}
	check(t, "options read back", options, any(&fakeOptions{Network: "bridge", Memory: 768 * quantity.MiB}))
}

func TestEveryErrorHasItsPositionAndASuggestion(t *testing.T) {
	_, err := resolveText(t, `study: many mistakes
baselin: nativ
limits: {cpus: -1, memory: 12 parsecs, io: {reads: 1MiB, read_ops: -1}, pin: {serwer: [0], driver: [-1]}}
environments:
  native: {limits: {memroy: 1GiB}}
  docker: {netwrok: none}
  odd: {kind: dockr}
  podman: {}
  d2: {kind: docker, network: bridges}
workloads:
  - use: redsi
  - use: redis
    clients: [1, 99999, 1]
    pipelin: 3
  - {use: fio, rw: randreed, size: "64M; rm -rf /"}
  - {use: fio}
  - clients: 3
design:
  ordr: interleaved
  blocks: {min: 10, max: 70}
  fresh: never
  margin: 200%
  budget: 5 minutes
`, Overrides{})
	if err == nil {
		t.Fatal("no mistake was found")
	}
	// Which packs tare brings is not what this is about.
	text := strings.ReplaceAll(err.Error(), strings.Join(workload.Names(), ", "), "BUILT-IN")
	golden(t, "testdata/mistakes.txt", text+"\n")
}

func TestCoresAreDividedWithAlternatingSamplesUnlessTheStudyPinsOrHasCopies(t *testing.T) {
	for _, c := range []struct {
		limits, design, workload string
		divides                  bool
	}{
		{"{}", "{}", "use: redis", true},
		{"{pin: auto}", "{order: interleaved}", "use: redis", true},
		{"{}", "{order: interleaved}", "use: redis", false},
		{"{pin: none}", "{}", "use: redis", false},
		{"{pin: {server: [0]}}", "{}", "use: redis", false},
		{"{}", "{}", "{use: redis, instances: [1, 2]}", false},
		{"{}", "{}", "{use: redis, neighbours: [0, 2]}", false},
	} {
		p, err := resolveText(t, "study: x\nenvironments: {native: {}}\nlimits: "+c.limits+"\nworkloads: [{"+strings.Trim(c.workload, "{}")+"}]\ndesign: "+c.design, Overrides{})
		if err != nil {
			t.Errorf("%v: %v", c, err)
		} else if p.Divides(p.Workloads[0]) != c.divides {
			t.Errorf("%v: %t", c, !c.divides)
		}
	}
	_, err := resolveText(t, "study: x\nenvironments: {native: {}}\nlimits: {pin: atuo}\nworkloads: [{use: redis}]", Overrides{})
	if err == nil || !strings.Contains(err.Error(), `unknown word "atuo"; did you mean "auto"?`) {
		t.Error(err)
	}
}

// On a machine with two or three cores the roles share the first, unless an
// environment is to use more, or what is measured is a start.
func TestRolesShareACoreOfAMachineWithFewCores(t *testing.T) {
	two := []int{1, 2}
	for _, c := range []struct {
		limits, workload string
		cores, want      []int
	}{
		{"{}", "use: redis", two, []int{1}},
		{"{}", "use: syscalls", two, []int{1}},
		{"{cpus: 1}", "use: redis", two, []int{1}},
		{"{}", "use: redis", []int{0}, nil},
		{"{}", "use: redis", []int{0, 1, 2, 3}, nil},
		{"{}", "use: startup-service", two, nil},
		{"{}", "use: sysbench-threads", two, nil},
		{"{}", "{use: sysbench-cpu, threads: [1, 2]}", two, nil},
		{"{}", "{use: redis, instances: [1, 2]}", two, nil},
		{"{}", "{use: redis, place: {driver: host}, as: x}", two, nil},
		{"{cpus: 2}", "use: redis", two, nil},
		{"{pin: none}", "use: redis", two, nil},
		{"{pin: {server: [2]}}", "use: redis", two, []int{2}},
	} {
		p, err := resolveText(t, "study: x\nenvironments: {native: {}}\nlimits: "+c.limits+"\nworkloads: [{"+strings.Trim(c.workload, "{}")+"}]", Overrides{})
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		p.ShareCore(c.cores)
		if got := p.CoresOf(&p.Environments[0], &p.Workloads[0]); !slices.Equal(got, c.want) {
			t.Errorf("%v: %v", c, got)
		}
	}
}

func TestAnEnvironmentThatNeedsMoreCoresKeepsAllOfThemFromSharingOne(t *testing.T) {
	p, err := resolveText(t, "study: x\nenvironments: {native: {}, other: {kind: native, with: {sysbench-cpu: {threads: 2}}}}\nworkloads: [{use: sysbench-cpu}]", Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	p.ShareCore([]int{0, 1})
	for i, e := range p.Environments {
		if got := p.CoresOf(&p.Environments[i], &p.Workloads[0]); got != nil {
			t.Errorf("%s has the cores %v", e.Name, got)
		}
	}
}

func TestAStudyThatCannotReachAVerdictIsAnError(t *testing.T) {
	body := "environments: {native: {}, docker: {}}\nworkloads: [{use: startup}]\n"
	for name, c := range map[string]struct{ text, want string }{
		"no title":              {body, "study: is missing"},
		"no environments":       {"study: x\nworkloads: [{use: startup}]", "environments: is missing"},
		"no workloads":          {"study: x\nenvironments: {native: {}}", "workloads: is missing"},
		"unknown baseline":      {"study: x\nbaseline: nativ\n" + body, `unknown environment "nativ"; did you mean "native"?`},
		"no baseline":           {"study: x\nenvironments: {docker: {}, gvisor: {}}\nworkloads: [{use: startup}]", "baseline: is missing"},
		"doubled environment":   {"study: x\nenvironments:\n  native: {}\n  native: {}\nworkloads: [{use: startup}]", "is already in line"},
		"a text for a mapping":  {"study: x\nenvironments: native\nworkloads: [{use: startup}]", "expected a mapping"},
		"two recipes and an id": {"study: x\nimage: {reference: \"debian:12\", packages: [gcc]}\n" + body, "a reference and a recipe"},
		"no precision":          {"study: x\ndesign: {precision: 0%}\n" + body, "between 1% and 100%"},
		"too few for a look":    {"study: x\ndesign: {blocks: {max: 3}}\n" + body, "blocks: 3"},
		"not YAML":              {"study: [", "study.yaml:1:"},
		"empty":                 {"", "empty"},
	} {
		if _, err := resolveText(t, c.text, Overrides{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q in it", name, err, c.want)
		}
	}
}

func TestAlternatingOrderKeepsInstancesForABlock(t *testing.T) {
	body := "environments: {native: {}, docker: {}}\nworkloads: [{use: redis}]\n"
	for text, want := range map[string]string{
		"{order: alternating}":                                           "alternating 16 true frozen block",
		"{order: alternating, rounds: auto}":                             "alternating 16 true frozen block",
		"{order: alternating, rounds: 5, waiting: frozen, fresh: trial}": "alternating 5 false frozen trial",
		"{order: alternating, blocks: {max: none}}":                      "alternating 16 true frozen block",
		"{order: interleaved}":                                           "interleaved 0 false  trial",
		"{}":                                                             "alternating 16 true frozen block",
	} {
		plan, err := resolveText(t, "study: x\ndesign: "+text+"\n"+body, Overrides{})
		if err != nil {
			t.Fatal(text, err)
		}
		d := plan.Design
		check(t, text, fmt.Sprint(d.Order, " ", d.Rounds, " ", d.RoundsChosen, " ", d.Waiting, " ", plan.Workloads[0].Fresh), want)
	}
	for _, d := range []string{"{}", "{order: alternating, rounds: 5, waiting: frozen}", "{order: sequential}"} {
		plan, err := resolveText(t, "study: x\ndesign: "+d+"\n"+body, Overrides{Only: []string{"native"}})
		if err != nil {
			t.Fatal(d, err)
		}
		want := map[bool]string{true: "sequential 0 false ", false: "interleaved 0 false "}[strings.Contains(d, "sequential")]
		check(t, d+" with one environment", fmt.Sprint(plan.Design.Order, " ", plan.Design.Rounds, " ", plan.Design.RoundsChosen, " ", plan.Design.Waiting), want)
	}
	for text, want := range map[string]string{
		"{order: alternating, rounds: 0}":      "study.yaml:2:38: rounds: must be 1 to 1000 samples of each environment per block, or auto",
		"{order: alternating, rounds: many}":   "study.yaml:2:38: rounds:",
		"{order: alternating, rounds: 1001}":   "study.yaml:2:38: rounds: must be 1 to 1000",
		"{order: alternating, waiting: froze}": `study.yaml:2:39: waiting: unknown value "froze"; did you mean "frozen"?`,
		"{order: interleaved, rounds: 8}":      "study.yaml:2:30: rounds: needs order: alternating; in order interleaved an environment gives one sample per trial",
		"{order: sequential, waiting: idle}":   "study.yaml:2:29: waiting: needs order: alternating; in order sequential",
		"{order: unpaired}":                    `order: unknown value "unpaired"; known: alternating, interleaved, sequential`,
	} {
		if _, err := resolveText(t, "study: x\ndesign: "+text+"\n"+body, Overrides{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", text, err, want)
		}
	}
}

func TestACommandLineOverridesTheFile(t *testing.T) {
	text := "study: x\nenvironments: {native: {}, docker: {}, gvisor: {}}\nworkloads: [{use: startup}, {use: nginx}]\n"
	plan, err := resolveText(t, text, Overrides{Blocks: 20, Budget: 1e9, Only: []string{"gvisor"}})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "blocks", plan.Design.Blocks, Blocks{Min: 20, Max: 20, Fixed: true})
	check(t, "the baseline stays", []int{len(plan.Environments), len(plan.Workloads)}, []int{2, 2})
	if plan, err = resolveText(t, text, Overrides{Only: []string{"nginx"}}); err != nil {
		t.Fatal(err)
	}
	check(t, "one workload", []int{len(plan.Environments), len(plan.Workloads)}, []int{3, 1})
	check(t, "the image does not change with the selection", plan.Image.Recipe.Packages, []string{"netbase", "nghttp2-client", "nginx-light", "wrk"})
	if _, err = resolveText(t, text, Overrides{Only: []string{"gvisr"}}); err == nil || !strings.Contains(err.Error(), `did you mean "gvisor"?`) {
		t.Errorf("an unknown name in only gave %v", err)
	}
}

func TestQuickIsSound(t *testing.T) {
	file, err := Load("quick")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Resolve(file, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	if len(plan.Environments) != 4 || len(plan.Workloads) != 8 || plan.Design.Budget == 0 {
		t.Errorf("quick has %d environments and %d workloads", len(plan.Environments), len(plan.Workloads))
	}
	for _, w := range plan.Workloads {
		if w.Fresh != "block" {
			t.Errorf("%s is fresh each %s", w.Name, w.Fresh)
		}
	}
	if _, err := Load("quik"); err == nil || !strings.Contains(err.Error(), `did you mean "quick"?`) {
		t.Errorf("a mistyped name gave %v", err)
	}
}

func TestAUsersWorkloadNeedsNothingButItsFile(t *testing.T) {
	directory := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(directory, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("count.yaml", `
workload: count
stresses: cpu
image: {packages: [gawk]}
parameters: {n: {default: 1000, min: 1}}
driver: {run: "seq ${n} | wc -l"}
parser: {regex: ['^(?P<lines>\d+)\n$']}
metrics: [{name: lines, unit: op, better: higher, primary: true}]
`)
	file, err := Load(write("mine.yaml", "study: mine\nenvironments: {native: {}, docker: {}}\nworkloads: [{use: ./count.yaml, n: [10, 20]}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := Resolve(file, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	pack, err := plan.Workloads[0].Pack.With(plan.Workloads[0].Levels[1].Parameters, workload.InstanceVars{})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "its command", pack.Driver.CommandArgs(), []string{"/bin/sh", "-c", "seq 20 | wc -l"})
	parsed, err := pack.Parse([]byte("20\n"))
	check(t, "its metrics", parsed.Metrics, map[string]float64{"lines": 20})
	check(t, "its companion", pack.Metrics[1].Name, workload.CPUSeconds)
	if err != nil {
		t.Error(err)
	}

	write("count.yaml", "workload: count\nstresess: cpu\n")
	if _, err = Resolve(file, Overrides{}); err == nil || !strings.Contains(err.Error(), `count.yaml:2:1: unknown key "stresess"; did you mean "stresses"?`) {
		t.Errorf("a mistake in the pack gave %v", err)
	}
}

func TestRangesStayInsideTheirBounds(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		from := rapid.IntRange(1, 50).Draw(rt, "from")
		to := from + rapid.IntRange(0, 500).Draw(rt, "span")
		by := fmt.Sprintf("step: %d", rapid.IntRange(1, 60).Draw(rt, "step"))
		if rapid.Bool().Draw(rt, "factor") {
			by = fmt.Sprintf("factor: %d", rapid.IntRange(2, 5).Draw(rt, "by"))
		}
		text := fmt.Sprintf("study: x\nenvironments: {native: {}}\nworkloads: [{use: redis, clients: {from: %d, to: %d, %s}}]\n", from, to, by)
		plan, err := Resolve(&File{Origin: "x", Source: []byte(text)}, Overrides{})
		if err != nil {
			rt.Fatal(err)
		}
		last := 0
		for i, l := range plan.Workloads[0].Levels {
			var v int
			if _, err := fmt.Sscan(l.Parameters["clients"], &v); err != nil || v <= last || v > to || i == 0 && v != from {
				rt.Fatalf("%s gave level %d = %q", text, i, l.Name)
			}
			last = v
		}
	})
}

func FuzzResolve(f *testing.F) {
	quick, err := Load("quick")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(quick.Source))
	f.Add(redisStudy)
	f.Add("a: &x [*x]\nenvironments: *x\n<<: *x")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "use") && strings.ContainsAny(text, "/.") {
			t.Skip("names files")
		}
		plan, err := Resolve(&File{Origin: "fuzz", Source: []byte(text)}, Overrides{})
		if (plan == nil) == (err == nil) {
			t.Fatalf("neither plan nor error, or both: %v", err)
		}
	})
}

func check[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got; UPDATE_GOLDEN=1 writes it):\n%s", path, d)
	}
}
