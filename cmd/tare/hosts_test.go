package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tare/internal/rundir"
	"tare/internal/testing/needs"
	"tare/internal/testing/sshhost"
)

const hostsStudy = `study: nodes on machines of their own
baseline: native
environments:
  native: {}
  boxed: {kind: native, network: bridge}
  behind: {kind: native, network: nat}
hosts:
%sworkloads:
  - {use: %q, place: {node: {apart: [h1, h2, h3]}, driver: {host: client}}}
design: {blocks: 1}
`

// Three machines have a node each, and a fourth one has the driver, which asks them over
// the network that joins them: at the machines' addresses where the nodes share those, and
// else over an overlay with an address for each node.
func TestRolesRunOnTheHostsThatTheyArePlacedOn(t *testing.T) {
	h := aHome(t)
	machines, entries := machinesOf(t, "client", "h1", "h2", "h3")
	pack, err := filepath.Abs("testdata/nodes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	study, directory := filepath.Join(t.TempDir(), "hosts.yaml"), filepath.Join(t.TempDir(), "run")
	if err := os.WriteFile(study, fmt.Appendf(nil, hostsStudy, entries, pack), 0o644); err != nil {
		t.Fatal(err)
	}
	p := h.tare(t, "run", study, "--quiet", "--out", directory)
	status, output := p.end()
	if status != 0 {
		t.Errorf("status %d: %s%s", status, output, p.errs.String())
	}
	run, err := rundir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	ran, skipped := 0, 0
	for _, trial := range run.Trials {
		switch {
		case trial.Environment == "behind":
			skipped++
			if trial.Status != rundir.Skipped || !strings.Contains(trial.Reason, "known limit: ") {
				t.Errorf("nothing routes between networks on several hosts, and the trial is %s: %s", trial.Status, trial.Reason)
			}
		case trial.Status != rundir.OK:
			t.Errorf("%s: %s", trial.Status, trial.Reason)
		default:
			ran++
			if cpu := trial.Usage.CPU(); cpu.Missing != "" || cpu.Value <= 0 {
				t.Errorf("what the nodes used of the processors: %+v", cpu)
			}
			heard := printed(t, directory, trial, "driver.stdout")
			if trial.Environment == "boxed" {
				heardFromEach(t, heard, 3)
				continue
			}
			for n, name := range []string{"h1", "h2", "h3"} {
				if want := fmt.Sprintf("heard node %d on %s to %s\n", n+1, machines[name].Address, machines["client"].Address); !strings.Contains(heard, want) {
					t.Errorf("the driver heard %q, without %q", heard, want)
				}
			}
		}
	}
	if ran != 2 || skipped != 1 {
		t.Errorf("%d trials ran on the hosts, and %d were skipped", ran, skipped)
	}
	for _, m := range machines {
		emptyThere(t, m.Home)
	}
	h.clean(t)
}

// heardFromEach checks that nodes on several hosts and the driver on another one have
// addresses of one network.
func heardFromEach(t *testing.T, heard string, nodes int) {
	t.Helper()
	seen, networks := map[string]bool{}, map[string]bool{}
	for _, line := range regexp.MustCompile(`heard (node \d on \S+) to \S+\n`).FindAllStringSubmatch(heard, -1) {
		seen[line[1]] = true
	}
	for _, address := range regexp.MustCompile(`(\d+\.\d+\.\d+)\.\d+`).FindAllStringSubmatch(heard, -1) {
		networks[address[1]] = true
	}
	if len(seen) != nodes || len(networks) != 1 {
		t.Errorf("heard are %v in the networks %v: %q", seen, networks, heard)
	}
}

// A machine on each of two hosts, whose guests see each other.
func TestVirtualMachinesOnSeveralHostsReachEachOther(t *testing.T) {
	needs.Minutes(t, "boots two emulated guests")
	needsKind(t, "qemu")
	h := aHome(t)
	machines, entries := machinesOf(t, "h1", "h2")
	pack, err := filepath.Abs("testdata/nodes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	study, directory := filepath.Join(t.TempDir(), "guests.yaml"), filepath.Join(t.TempDir(), "run")
	if err := os.WriteFile(study, fmt.Appendf(nil, guestsStudy, entries, pack, pack), 0o644); err != nil {
		t.Fatal(err)
	}
	p := h.tare(t, "run", study, "--quiet", "--out", directory)
	if status, output := p.end(); status != 0 {
		t.Errorf("status %d: %s%s", status, output, p.errs.String())
	}
	run, err := rundir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Trials) != 2 {
		t.Errorf("%d trials", len(run.Trials))
	}
	for _, trial := range run.Trials {
		if trial.Status != rundir.OK {
			t.Errorf("%s: %s: %s", trial.Workload, trial.Status, trial.Reason)
			continue
		}
		heardFromEach(t, printed(t, directory, trial, "driver.stdout"), 2)
	}
	for _, m := range machines {
		emptyThere(t, m.Home)
	}
	h.clean(t)
}

const guestsStudy = `study: a virtual machine on each host
baseline: vm
environments:
  vm: {kind: qemu}
hosts:
%sworkloads:
  - {use: %q, as: driven-from-this-machine, nodes: 2, place: {node: {apart: [h1, h2]}, driver: host}}
  - {use: %q, as: driven-from-a-host, nodes: 2, place: {node: {apart: [h1, h2]}, driver: {host: h2}}}
design: {blocks: 1}
`

const oneHostStudy = `study: all on one machine
baseline: plain
environments:
  plain: {kind: native, host: h1}
  boxed: {kind: native, network: bridge, host: h1}
hosts:
%sworkloads:
  - {use: %q, nodes: 1, place: {driver: {host: h1}}}
design: {blocks: 1}
`

// What has a network of its own is reached from the machine that it is on, by
// the bridge that is made there.
func TestARoleOnAnEnvironmentsOwnHostReachesItsNetwork(t *testing.T) {
	h := aHome(t)
	machines, entries := machinesOf(t, "h1")
	pack, err := filepath.Abs("testdata/nodes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	study, directory := filepath.Join(t.TempDir(), "host.yaml"), filepath.Join(t.TempDir(), "run")
	if err := os.WriteFile(study, fmt.Appendf(nil, oneHostStudy, entries, pack), 0o644); err != nil {
		t.Fatal(err)
	}
	p := h.tare(t, "run", study, "--quiet", "--out", directory)
	if status, output := p.end(); status != 0 {
		t.Errorf("status %d: %s%s", status, output, p.errs.String())
	}
	run, err := rundir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Trials) != 2 {
		t.Errorf("%d trials", len(run.Trials))
	}
	for _, trial := range run.Trials {
		if trial.Status != rundir.OK {
			t.Errorf("%s: %s: %s", trial.Environment, trial.Status, trial.Reason)
		}
	}
	emptyThere(t, machines["h1"].Home)
	h.clean(t)
}

// machinesOf makes machines on one network, and the lines of a study that name
// them.
func machinesOf(t *testing.T, names ...string) (machines map[string]*sshhost.Machine, entries string) {
	t.Helper()
	network := sshhost.New(t)
	machines = map[string]*sshhost.Machine{}
	for _, name := range names {
		m := network.Machine(t)
		furnish(t, m.Home)
		d := m.Destination()
		entries += fmt.Sprintf("  %s: {ssh: %q, identity: %q, known_hosts: %q, config: none}\n", name, d.Host, d.Identity, d.KnownHosts)
		machines[name] = m
	}
	return machines, entries
}

// printed is a raw output of a trial.
func printed(t *testing.T, directory string, trial rundir.Trial, name string) string {
	t.Helper()
	for _, raw := range trial.Raw {
		if raw.Name == name {
			text, err := os.ReadFile(filepath.Join(directory, raw.Path))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
	t.Fatalf("%s is not among %v", name, trial.Raw)
	return ""
}
