package kubernetes

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"tare/internal/testing/clustertest"
	"tare/internal/testing/needs"
)

const aPod = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0"

// files makes files below a new root.
func files(t *testing.T, texts map[string]string) string {
	root := t.TempDir()
	for path, text := range texts {
		path = filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func cniResult(device, network, config, uid string) string {
	return fmt.Sprintf(`{"kind": "cniCacheV1", "containerId": "c", "config": %q, "ifName": %q, "networkName": %q, "cniArgs": [["IgnoreUnknown", "1"], ["K8S_POD_UID", %q]]}`,
		base64.StdEncoding.EncodeToString([]byte(config)), device, network, uid)
}

func TestFilesOfANodeTellItsPoliciesAndWhatThePodGot(t *testing.T) {
	root := files(t, map[string]string{
		cpuState:                 `{"policyName": "static", "defaultCpuSet": "0-1", "entries": {"` + aPod + `": {"workload": "2-3"}}, "checksum": 1}`,
		memoryState:              `{"policyName": "None", "machineState": {}, "checksum": 2}`,
		cniResults + "/a-c-eth0": cniResult("eth0", "wide", `{"plugins": [{"type": "calico"}, {"type": "bandwidth"}]}`, aPod),
		cniResults + "/b-c-eth0": cniResult("eth0", "other", `{"type": "bridge"}`, strings.Replace(aPod, "0", "1", 1)),
		cniResults + "/l-c-lo":   cniResult("lo", "cni-loopback", `{"plugins": [{"type": "loopback"}]}`, aPod),
		cniResults + "/c-torn":   `{"kind"`,
	})
	k := fromFiles(root, aPod, "/kubepods.slice/kubepods-pod"+strings.ReplaceAll(aPod, "-", "_")+".slice")
	want := map[string]string{factCPUs: "static", factCores: "yes", factMemory: "None", factCNI: "wide (calico, bandwidth)", factDriver: "systemd"}
	delete(k.facts, factCgroups)
	if !maps.Equal(k.facts, want) || len(k.unknown) > 0 {
		t.Errorf("%v, unknown %v", k.facts, k.unknown)
	}
	k = fromFiles(root, strings.Replace(aPod, "0", "2", 1), "/kubepods/burstable/pod")
	if k.facts[factCores] != "no" || k.facts[factDriver] != "cgroupfs" || !strings.Contains(k.unknown[factCNI], "none of the pod") {
		t.Errorf("of another pod: %v, unknown %v", k.facts, k.unknown)
	}
	k = fromFiles(t.TempDir(), aPod, "/kubepods/pod")
	for _, key := range []string{factCPUs, factCores, factMemory, factCNI} {
		if k.unknown[key] == "" || k.facts[key] != "" {
			t.Errorf("%s of a node without the files is %q, unknown %q", key, k.facts[key], k.unknown[key])
		}
	}
}

func TestAFactThatIsNotReadIsUnknownWithTheReason(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "node-1", errors.New("no"))
	for _, c := range []struct {
		k          knowledge
		key, value string
		reason     string
	}{
		{ofNode(nil, forbidden), factKernel, "", "deploy/kubernetes/nodes.yaml permits it"},
		{ofNode(&corev1.Node{}, nil), factType, "", "does not have it"},
		{ofNode(&corev1.Node{Status: corev1.NodeStatus{NodeInfo: corev1.NodeSystemInfo{KernelVersion: "6.1"}}}, nil), factKernel, "6.1", ""},
		{ofKubelet(nil, forbidden), factTopology, "", "deploy/kubernetes/kubelet.yaml permits it"},
		{ofKubelet([]byte("<html>"), nil), factTopology, "", "configuration: invalid"},
		{ofKubelet([]byte(`{"kubeletconfig": {"topologyManagerPolicy": "none", "topologyManagerScope": "container"}}`), nil), factTopology, "none", ""},
		{ofKubelet([]byte(`{"kubeletconfig": {"topologyManagerPolicy": "restricted", "topologyManagerScope": "pod"}}`), nil), factTopology, "restricted, scope pod", ""},
		{ofKubelet([]byte(`{"kubeletconfig": {}}`), nil), factCPUs, "", "does not have it"},
	} {
		if got, reason := c.k.facts[c.key], c.k.unknown[c.key]; got != c.value || (c.reason == "") != (reason == "") || !strings.Contains(reason, c.reason) {
			t.Errorf("%s is %q, unknown %q: want %q, %q", c.key, got, reason, c.value, c.reason)
		}
	}
}

func TestWhatOneSourceKnowsIsNotUnknownForAnother(t *testing.T) {
	k, files := newKnowledge(), newKnowledge()
	k.miss("not permitted", factCPUs, factTopology)
	files.know(factCPUs, "static")
	files.miss("no file", factMemory)
	k.know(factMemory, "None")
	k.learn(files)
	if k.facts[factCPUs] != "static" || k.facts[factMemory] != "None" || !maps.Equal(k.unknown, map[string]string{factTopology: "not permitted"}) {
		t.Errorf("%v, unknown %v", k.facts, k.unknown)
	}
}

func TestAClusterIsAskedOnceForANode(t *testing.T) {
	var d described
	asked := 0
	answers := []error{errors.New("away"), apierrors.NewForbidden(schema.GroupResource{}, "", nil)}
	for range 4 {
		d.once("node a", func() (knowledge, error) { asked++; return newKnowledge(), answers[min(asked-1, 1)] })
	}
	if asked != 2 {
		t.Errorf("it was asked %d times", asked)
	}
}

func TestANodeIsDescribedAsFarAsItMayBeRead(t *testing.T) {
	s := setUp(t)
	needs.Cluster(t)
	read := func(usage string) (facts, unknown map[string]string) {
		i := s.start(t, s.environment(t, func(o *Options) { o.RuntimeClass, o.Usage = "gvisor", usage }), "read-"+usage)
		defer i.Stop(t.Context())
		d := i.Details()
		return d.Facts, d.Unknown
	}
	facts, unknown := read("local")
	t.Logf("%q, unknown %q", facts, unknown)
	for key, want := range map[string]string{factHandler: "runsc", factCPUs: "none", factMemory: "None", factDriver: "cgroupfs", factCNI: "tare (bridge)", factCores: "no"} {
		if facts[key] != want {
			t.Errorf("%s is %q, not %q: %s", key, facts[key], want, unknown[key])
		}
	}
	for _, key := range []string{factKernel, factRuntime, factKubelet, factCgroups} {
		if facts[key] == "" {
			t.Errorf("%s is unknown: %s", key, unknown[key])
		}
	}
	if got := slices.Sorted(maps.Keys(unknown)); !slices.Equal(got, []string{factType, factTopology}) || !strings.Contains(unknown[factTopology], "kubelet.yaml") {
		t.Errorf("unknown are %q", unknown)
	}
	through, _ := read("node")
	if !maps.Equal(through, facts) {
		t.Errorf("the helper on the node reads %q", through)
	}
	const manifest = "../../../deploy/kubernetes/kubelet.yaml"
	if _, err := clustertest.Kubectl(t.Context(), "", "apply", "-f", manifest); err != nil {
		t.Fatal(err)
	}
	defer clustertest.Kubectl(t.Context(), "", "delete", "-f", manifest)
	if facts, unknown = read("local"); facts[factTopology] != "none" {
		t.Errorf("the topology manager's policy is %q: %s", facts[factTopology], unknown[factTopology])
	}
}
