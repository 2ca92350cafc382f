package study

import (
	"strings"
	"testing"
	"time"

	"tare/internal/workload"
)

const scaledStudy = `
study: two sizes
limits: {cpus: 4, memory: 2GiB}
environments:
  native: {}
  vm: {kind: qemu, memory: 2GiB}
workloads:
  - {use: redis, clients: [10, 50, 100], size: 1024}
  - {use: fio, as: reads, rw: randread}
design: {blocks: 30, margin: 1%}
scales:
  small:
    limits: {memory: 512MiB}
    environments: {vm: {memory: 1GiB}}
    workloads:
      redis: {clients: [10, 100], requests: 500}
    design: {blocks: 2}
`

func TestAScaleReplacesOnlyWhatItNames(t *testing.T) {
	whole, err := resolveText(t, scaledStudy, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	small, err := resolveText(t, scaledStudy, Overrides{Scale: "small"})
	if err != nil {
		t.Fatal(err)
	}
	check(t, "levels of the whole", len(whole.Workloads[0].Levels), 3)
	check(t, "levels of the small", len(small.Workloads[0].Levels), 2)
	parameters := small.Workloads[0].Levels[1].Parameters
	check(t, "what is new, named again and left", []string{parameters["requests"], parameters["clients"], parameters["size"]}, []string{"500", "100", "1024"})
	check(t, "the other workload", small.Workloads[1].Levels, whole.Workloads[1].Levels)
	check(t, "blocks", small.Design.Blocks.Max, 2)
	check(t, "margin", small.Design.Margin, whole.Design.Margin)
	check(t, "CPUs", small.Limits.CPUs, 4.0)
	check(t, "memory", small.Limits.Memory.String(), "512MiB")
	check(t, "the VM's", strings.Contains(string(small.Environments[1].Options), "1073741824"), true)
	check(t, "the name", small.Name != whole.Name && strings.HasSuffix(small.Name, "small"), true)
}

func TestAScaleSetsTheLengthOfSamplesInEitherWay(t *testing.T) {
	for _, c := range []struct{ whole, small string }{{"seconds: 2", "sample: 200ms"}, {"sample: 2s", "seconds: 0.2"}} {
		text := strings.Replace(scaledStudy, "requests: 500", c.small, 1)
		text = strings.Replace(text, "use: redis, ", "use: redis, "+c.whole+", ", 1)
		whole, err := resolveText(t, text, Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		small, err := resolveText(t, text, Overrides{Scale: "small"})
		if err != nil {
			t.Fatal(err)
		}
		check(t, "of the whole", whole.Workloads[0].Levels[0].Sample, 2*time.Second)
		check(t, "of the small", small.Workloads[0].Levels[0].Sample, 200*time.Millisecond)
	}
}

func TestAScaleCannotNameWhatTheStudyDoesNotHave(t *testing.T) {
	_, err := resolveText(t, strings.Replace(scaledStudy, "redis: {clients: [10, 100]", "radis: {clients: [10, 100]", 1), Overrides{Scale: "small"})
	if err == nil || !strings.Contains(err.Error(), `study.yaml:16:7: unknown workload "radis"; did you mean "redis"?`) {
		t.Errorf("got %v", err)
	}
	_, err = resolveText(t, scaledStudy, Overrides{Scale: "smal"})
	if err == nil || !strings.Contains(err.Error(), `did you mean "small"?`) {
		t.Errorf("got %v", err)
	}
	_, err = resolveText(t, redisStudy, Overrides{Scale: "small"})
	if err == nil || !strings.Contains(err.Error(), "the study has no scales") {
		t.Errorf("got %v", err)
	}
}

func TestAStudyPlacesRoles(t *testing.T) {
	const text = `
study: apart
environments: {native: {}}
workloads:
  - {use: redis, place: {driver: host, server: apart}, instances: {from: 1, to: 4, factor: 2}}
design: {blocks: 1}
`
	plan, err := resolveText(t, text, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	w := plan.Workloads[0]
	check(t, "the driver's place", w.Pack.Place("driver"), workload.OnHost)
	check(t, "the server's place", w.Pack.Place("server"), workload.Apart)
	var copies []int
	for _, l := range w.Levels {
		copies = append(copies, l.Instances)
	}
	check(t, "copies", copies, []int{1, 2, 4})
	check(t, "the level's name", w.Levels[2].Name, "instances=4")

	for wrong, says := range map[string]string{
		"place: {drivr: host}":   `did you mean "driver"?`,
		"place: {driver: moon}":  `unknown place "moon"`,
		"place: {server: host}":  "role server of workload redis is a server",
		"instances: 0":           "0 is out of range: 1 to 1000 are allowed",
		"instances: [1, 1]":      "1 is listed twice",
		"instances: many":        `"many" is not a whole number`,
		"address: 127.0.0.1":     `unknown parameter "address"`,
		"place: {driver: apart}": "",
	} {
		_, err := resolveText(t, "study: x\nenvironments: {native: {}}\nworkloads: [{use: redis, "+wrong+"}]\ndesign: {blocks: 1}\n", Overrides{})
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: got %v, want %q", wrong, err, says)
		}
	}
}

func TestTooManyInstancesOfARoleAreFoundBeforeAnythingStarts(t *testing.T) {
	const pack = `
workload: crowd
stresses: network
parameters: {nodes: {default: 3, min: 1, max: 5000}}
roles: {node: {place: apart, count: "${nodes}"}}
driver: {run: echo 1, role: driver}
setup: [{run: echo, role: node}]
parser: {regex: ['(?P<n>\d+)']}
metrics: [{name: n, unit: op, better: higher, primary: true}]
`
	p, err := workload.Decode("crowd.yaml", []byte(pack))
	if err != nil {
		t.Fatal(err)
	}
	file := File{Origin: "study.yaml", Name: "x", Source: []byte("study: x\nenvironments: {native: {}}\nworkloads: [{use: crowd, nodes: [3, 2000]}]\n")}
	if _, err := Resolve(file.With(p), Overrides{}); err == nil || !strings.Contains(err.Error(), `study.yaml:3:13: workload crowd, role node: count: "2000" is not a number from 1 to 1000`) {
		t.Errorf("got %v", err)
	}
}
