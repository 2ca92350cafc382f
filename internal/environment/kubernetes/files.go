package kubernetes

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/base/bounded"
	"tare/internal/linux/cgroup"
)

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

// rootOf is the root of the node's container runtime: that of the pod's shim, or of the
// first process.
func (i *instance) rootOf() string {
	pid := 1
	if len(i.footprint.Processes) > 0 {
		pid = i.footprint.Processes[0].PID
	}
	return fmt.Sprintf("/proc/%d/root", pid)
}
