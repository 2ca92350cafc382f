package main

import (
	"slices"
	"strings"
)

// lanes is how many jobs run beside each other. Guests under emulation keep a
// processor busy, but most other tests wait for a process, a timeout or a disk.
// Each job more would bring guests nearer to the timeout of their start. With two
// guests in each of four jobs, two cores boot all eight in about a quarter of it.
const lanes = 4

// alone has the jobs that run one at a time, after all others: they measure, or
// they watch something that the whole machine shares. The key is a package below
// tare/, with the part in parentheses; the value is the reason.
var alone = map[string]string{
	"internal/agent":                                "compares the host's mounts before and after",
	"internal/cli (known cost)":                     "measures a part of known cost, which its interval has to contain",
	"internal/environment/docker (packet counters)": "reads counters of the host's packet filter, which other containers raise",
	"internal/usage/evidence/probe":                 "counts kernel events, some of them of the whole machine",
	"internal/linux/kvm":                            "compares the speed of a virtual CPU with that of the processor",
	"internal/usage":                                "compares what it counts with what the whole machine used",
	"internal/testing/knowncost":                    "compares the times of two loops",
}

// parts splits the tests of a package that takes long among several runs, so that
// they can run beside each other. A test belongs to the first part whose pattern
// matches it, as -run does, and to the rest if none does.
type part struct {
	name string
	run  string // the pattern of the tests; "" is the rest
	also string // tests that run here and elsewhere, since others depend on them
}

var parts = map[string][]part{
	"internal/testing/conformance": {
		{name: "nested guests", run: providers + "oci_in_qemu", also: providers + "^native$/^same_bytes$"},
		{name: "guests", run: providers + "qemu", also: providers + "^native$/^same_bytes$"},
		{name: "doubles", run: providers + "(firecracker|cloud-hypervisor)", also: providers + "^native$/^same_bytes$"},
		{name: "devices of guests", run: "TestEveryDiskIsWrittenToAndSaysWhatItIs/qemu|TestEveryNetworkIsReachedAsItSays/qemu|TestWhatReadsAndWritesCgroupsWorksOnAMachineOfV2Alone"},
		{name: "rest"},
	},
	"internal/environment/nested": {
		{name: "docker", run: "TestWhatIsStartedInAMachineIsContainedThereAndItsCostIsTheWholeMachines/docker"},
		{name: "rest"},
	},
	"cmd/tare": {
		{name: "packs", run: "TestTheWorkloadsRunNativelyAndInAContainer|TestTheExamplesRunInDockerAndGVisor"},
		{name: "rest"},
	},
	"internal/cli": {
		{name: "known cost", run: "TestAKnownCostIsFound"},
		{name: "rest"},
	},
	"internal/environment/docker": {
		{name: "packet counters", run: "TestAPublishedPortIsReachedThroughTheRuleForIt|TestNATTranslatesWhatLeavesTheMachine"},
		{name: "rest"},
	},
}

const providers = "TestEveryProviderDoesWhatAnInstancePromises/"

// first are the jobs that take longest. They are started first, so that none of
// them is still under way when everything else has ended. Among the first of all
// are some that build images of their own: others wait for the one that all share.
var first = []string{
	"internal/testing/conformance (nested guests)",
	"internal/environment/nested (docker)",
	"cmd/tare (packs)",
	"internal/testing/release",
	"internal/image",
	"internal/environment/machine",
	"internal/testing/conformance (rest)",
	"internal/testing/faults",
	"internal/testing/conformance (devices of guests)",
	"cmd/tare (rest)",
	"internal/testing/conformance (guests)",
	"internal/testing/conformance (doubles)",
	"internal/environment/nested (rest)",
	"internal/environment/cloudhypervisor",
	"internal/environment/firecracker",
	"internal/environment/qemu",
	"internal/attribution",
}

// job is one run of a package's test program.
type job struct {
	name string // the import path, with the part in parentheses
	pkg  pack
	args []string
	also string // tests on which others of this job depend
}

func (j job) short() string { return strings.TrimPrefix(j.name, "tare/") }

// jobsOf makes the jobs of a package. Tests that the caller picks are not split.
func jobsOf(p pack, args []string, picked bool) (jobs []job) {
	list := parts[p.below()]
	if len(list) == 0 || picked {
		return []job{{name: p.ImportPath, pkg: p, args: args}}
	}
	var before []string
	for _, one := range list {
		j := job{name: p.ImportPath + " (" + one.name + ")", pkg: p, args: slices.Clone(args), also: one.also}
		if one.run != "" {
			pattern := one.run
			if one.also != "" {
				pattern += "|" + one.also
			}
			j.args = append(j.args, "-test.run="+pattern)
		}
		if len(before) > 0 {
			j.args = append(j.args, "-test.skip="+strings.Join(before, "|"))
		}
		if one.run != "" {
			before = append(before, one.run)
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// phases puts jobs in order: those that may run beside each other, and those
// that run alone.
func phases(jobs []job) (beside, serial []job) {
	for _, j := range jobs {
		if alone[j.short()] != "" {
			serial = append(serial, j)
		} else {
			beside = append(beside, j)
		}
	}
	rank := func(j job) int {
		if n := slices.Index(first, j.short()); n >= 0 {
			return n
		}
		return len(first)
	}
	slices.SortStableFunc(beside, func(a, b job) int { return rank(a) - rank(b) })
	return beside, serial
}
