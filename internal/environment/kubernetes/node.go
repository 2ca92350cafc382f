package kubernetes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"tare/internal/base/bounded"
	"tare/internal/environment"
	"tare/internal/environment/oci"
	"tare/internal/environment/support/shims"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/procfile"
	"tare/internal/usage"
)

// look finds what the pod is to this machine, and facts of it and of its node. It runs
// after the start.
func (i *instance) look(ctx context.Context) {
	if i.network != nil {
		i.network.learn(i)
	}
	i.More.Freezer = environment.Unfreezable{Why: fmt.Errorf("freezing the pod: %w: node %s is another machine; usage: node freezes it there", errors.ErrUnsupported, i.pod.Spec.NodeName)}
	seen, err := newKnowledge(), i.find()
	i.thaw = i.More.Freezer.Thaw
	if err == nil {
		seen = i.seen
	} else if i.options.Usage == "metrics" {
		err = errNodeFiles
	} else if i.options.Usage != "node" {
		why := elsewhere(i.pod.Spec.NodeName, err)
		i.footprint.Elsewhere = unmeasured{why}
		i.Findings = append(i.Findings, "resource use is not measured "+why)
		err = errNodeFiles
	}
	i.learnFacts(ctx, seen, err)
}

// deepest is how far below the root kubelets make the cgroups of pods.
const deepest = 5

// find finds the pod's cgroup and processes, if its node is this machine.
func (i *instance) find() error {
	group, err := podGroup(string(i.pod.UID))
	if err != nil {
		return err
	}
	pids, err := group.PIDs()
	if err != nil || len(pids) == 0 {
		return fmt.Errorf("its cgroup %s has no processes (%v)", group.Path(), err)
	}
	i.footprint, i.More.Freezer = usage.Footprint{Cgroups: []string{group.Path()}}, group.Freezer(false)
	if id, kata := kataSandbox(group); kata {
		i.More.LimitedInside = true
		i.around = shims.Overhead(id)
		i.footprint.Early = i.around
	}
	slices.Sort(pids)
	for _, pid := range pids {
		// gVisor's gofers have a network namespace without devices, Kata's shim has the node's.
		if i.footprint.NetworkPID == 0 && i.options.Network == "cni" && hasNetwork(pid) {
			i.footprint.NetworkPID = pid
		}
		// runsc runs itself as /proc/self/exe, which is its name in comm.
		if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); strings.HasPrefix(string(name), "runsc-") {
			i.footprint.Roles = oci.GvisorRoles
			i.More.Freezer = environment.Unfreezable{Why: fmt.Errorf("freezing the pod: %w; which platform runsc uses is in the node's configuration", oci.ErrSystrap)}
		}
	}
	shim := shimOf(pids)
	if shim > 1 && !slices.Contains(pids, shim) {
		i.footprint.Processes = []usage.Process{{PID: shim, Role: "shim"}}
	}
	// The root of the node's container runtime.
	i.seen = fromFiles(fmt.Sprintf("/proc/%d/root", max(shim, 1)), string(i.pod.UID), group.Path())
	return nil
}

// kataSandbox is the id of a pod's sandbox, where Kata Containers made a cgroup for its guest.
func kataSandbox(pod *cgroup.Group) (id string, is bool) {
	groups, _ := pod.Children()
	for _, name := range groups {
		if id, is = strings.CutPrefix(name, "kata_"); is {
			return id, true
		}
	}
	return "", false
}

// uidForm is that of the UIDs of pods. What an API server says is not trusted with the
// name of a cgroup: every name contains an empty one.
var uidForm = regexp.MustCompile(`^[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}$`)

// podGroup searches for the cgroup that a kubelet made for a pod: its name has the
// pod's UID, with underscores where systemd made it.
func podGroup(uid string) (*cgroup.Group, error) {
	if !uidForm.MatchString(uid) {
		return nil, fmt.Errorf("looking for the cgroup of a pod: %q is not the UID of a pod", uid)
	}
	root, err := cgroup.At("/")
	if err != nil {
		return nil, err
	}
	top, known := root.Dir("memory")
	if !known {
		return nil, errors.New("cgroups of memory are not mounted here")
	}
	found := ""
	err = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		below := strings.TrimPrefix(path, top)
		switch {
		case err != nil: // removed meanwhile
			return nil
		case !entry.IsDir():
			return nil
		case strings.Contains(entry.Name(), "pod"+uid) || strings.Contains(entry.Name(), "pod"+strings.ReplaceAll(uid, "-", "_")):
			found = below
			return fs.SkipAll
		case strings.Count(below, "/") >= deepest:
			return fs.SkipDir
		}
		return nil
	})
	if err != nil || found == "" {
		return nil, errors.Join(err, errors.New("the node is another machine than tare's: no cgroup of the pod is here"))
	}
	return cgroup.At(found)
}

// hasNetwork says whether a process sees more devices than a loopback, and not the node's.
func hasNetwork(pid int) bool {
	space := func(pid string) string { text, _ := os.Readlink("/proc/" + pid + "/ns/net"); return text }
	if own := space(strconv.Itoa(pid)); own != "" && (own == space("1") || own == space("self")) {
		return false
	}
	table, _ := os.ReadFile(fmt.Sprintf("/proc/%d/net/dev", pid))
	for line := range strings.Lines(string(table)) {
		if device, _, is := strings.Cut(strings.TrimSpace(line), ":"); is && device != "lo" {
			return true
		}
	}
	return false
}

// shimOf is the shim of a pod's processes: the parent of one, or with Kata Containers one of
// them; 0 where there is none.
func shimOf(pids []int) int {
	for _, pid := range pids {
		for _, at := range []int{procfile.Parent(pid), pid} {
			name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", at))
			if err == nil && (bytes.HasPrefix(name, []byte("containerd-shim")) || bytes.HasPrefix(name, []byte("conmon"))) {
				return at
			}
		}
	}
	return 0
}

// effectiveLimits are those that the kubelet reports in the pod's status, and where it
// does not report any, those that it accepted.
func (i *instance) effectiveLimits(_ context.Context, l environment.Limits) (list []environment.EffectiveLimit, err error) {
	status := i.pod.Status.ContainerStatuses[0]
	given, where := i.pod.Spec.Containers[0].Resources, "the pod's description"
	if status.Resources != nil {
		given, where = *status.Resources, "the pod's status"
	}
	for _, wish := range (cgroup.Limits{CPUs: l.CPUs, Memory: l.Memory}).Requested() {
		wish.Where = where
		name, asked := corev1.ResourceCPU, resourcesOf(l).Limits[corev1.ResourceCPU]
		if wish.Limit == "memory" {
			name, asked = corev1.ResourceMemory, resourcesOf(l).Limits[corev1.ResourceMemory]
		}
		has := given.Limits[name]
		wish.Seen, wish.Holds = has.String(), has.Cmp(asked) == 0
		list = append(list, wish)
	}
	return list, nil
}

// unmeasured measures nothing, and says why.
type unmeasured struct{ why string }

func (u unmeasured) Meter(usage.Options) usage.Meter { return u }
func (u unmeasured) UsageOfStart() usage.Usage       { return usage.Unknown("%s", u.why) }
func (u unmeasured) Stop() usage.Usage               { return usage.Unknown("%s", u.why) }
func (u unmeasured) Series() *usage.Series           { return &usage.Series{} }

// findPod finds a pod of this node by its UID.
func findPod(_ context.Context, options any, uid string) (environment.Instance, error) {
	i := &instance{options: *options.(*Options), pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}}}
	if err := i.find(); err != nil {
		return nil, err
	}
	f := &found{footprint: i.footprint}
	f.More = i.More
	f.More.Facts, f.More.Unknown = i.seen.facts, i.seen.unknown
	return f, nil
}

// found is a pod that the API server started, as its node sees it.
type found struct {
	environment.Started
	footprint usage.Footprint
}

func (f *found) Footprint() usage.Footprint { return f.footprint }

// Stop lets a frozen pod go on: it ends when the API server says so.
func (f *found) Stop(ctx context.Context) error { return f.More.Freezer.Thaw(ctx) }

// thaw lets a pod go on that a dead coordinator froze on this machine: it could not end.
func thaw(uid types.UID) error {
	group, err := podGroup(string(uid))
	if err != nil {
		return nil // it runs elsewhere, or not any more
	}
	return group.Thaw()
}

// Files of a node, below the root of its container runtime.
const (
	cpuState    = "/var/lib/kubelet/cpu_manager_state"
	memoryState = "/var/lib/kubelet/memory_manager_state"
	// cniResults has what libcni notes about each network of each pod.
	cniResults = "/var/lib/cni/results"
)

// mostResults bounds the search for a pod among the results of CNI.
const mostResults = 4096

// fromFiles reads what the files of a node tell about it and a pod. root is the root
// of its container runtime, group the path of the pod's cgroup.
func fromFiles(root, uid, group string) knowledge {
	k := newKnowledge()
	if mode := cgroup.Mode(); mode != "" {
		k.know(factCgroups, mode)
	}
	// Kubelets name cgroups kubepods.slice where systemd makes them.
	if slices.ContainsFunc(strings.Split(group, "/"), func(name string) bool { return strings.HasSuffix(name, ".slice") }) {
		k.know(factDriver, "systemd")
	} else {
		k.know(factDriver, "cgroupfs")
	}
	var cpus struct {
		Policy  string                       `json:"policyName"`
		Entries map[string]map[string]string `json:"entries"`
	}
	if err := readState(root+cpuState, &cpus); err != nil {
		k.miss(err.Error(), factCPUs, factCores)
	} else {
		k.know(factCPUs, cpus.Policy)
		k.know(factCores, map[bool]string{true: "yes", false: "no"}[cpus.Entries[uid][workload] != ""])
	}
	var memory struct {
		Policy string `json:"policyName"`
	}
	if err := readState(root+memoryState, &memory); err != nil {
		k.miss(err.Error(), factMemory)
	} else {
		k.know(factMemory, memory.Policy)
	}
	if networks, err := networksOf(root+cniResults, uid); err != nil {
		k.miss(err.Error(), factCNI)
	} else {
		k.know(factCNI, networks)
	}
	return k
}

func readState(path string, into any) error {
	text, err := bounded.ReadFile(path, bounded.Line)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("the file in which a kubelet notes it: %w", err)
	}
	return nil
}

// networksOf are the networks that the container runtime gave a pod: their names with
// the types of their plugins.
func networksOf(directory, uid string) (string, error) {
	entries, err := os.ReadDir(directory)
	if err != nil {
		return "", fmt.Errorf("the results of CNI: %w", err)
	}
	var networks []string
	for _, e := range entries[:min(len(entries), mostResults)] {
		var result struct {
			Network   string      `json:"networkName"`
			Interface string      `json:"ifName"`
			Arguments [][2]string `json:"cniArgs"`
			Config    []byte      `json:"config"`
		}
		text, err := bounded.ReadFile(filepath.Join(directory, e.Name()), bounded.Line)
		if err != nil || json.Unmarshal(text, &result) != nil || result.Interface == "lo" || !slices.Contains(result.Arguments, [2]string{"K8S_POD_UID", uid}) {
			continue
		}
		var config struct {
			Type    string `json:"type"`
			Plugins []struct {
				Type string `json:"type"`
			} `json:"plugins"`
		}
		name := result.Network
		if json.Unmarshal(result.Config, &config) == nil {
			types := []string{}
			for _, p := range config.Plugins {
				types = append(types, p.Type)
			}
			if config.Type != "" {
				types = append(types, config.Type)
			}
			name += " (" + strings.Join(types, ", ") + ")"
		}
		networks = append(networks, name)
	}
	slices.Sort(networks)
	networks = slices.Compact(networks)
	if len(networks) == 0 {
		return "", fmt.Errorf("the results of CNI in %s have none of the pod", cniResults)
	}
	return strings.Join(networks, "; "), nil
}
