package faults

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/host/cleanup"
	"tare/internal/rundir"
	"tare/internal/testing/clustertest"
	"tare/internal/testing/needs"
)

// A pod that cannot be made, or is killed for what it does, is a failed trial with its
// reason: each fault is in an environment of its own, and the baseline is measured.
func TestKubernetesFaultsOfPods(t *testing.T) {
	t.Parallel() // after TestKubernetesFaultsOfARun, which takes the API server away
	account := inCluster(t, "tare-small", "tare-closed", "tare-full")
	kubectl(t, `
apiVersion: v1
kind: LimitRange
metadata: {name: disk, namespace: tare-small}
spec: {limits: [{type: Container, default: {ephemeral-storage: 16Mi}, defaultRequest: {ephemeral-storage: 16Mi}}]}
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: few, namespace: tare-full}
spec: {hard: {limits.cpu: 100m}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: tare-closed}
spec:
  matchConstraints: {resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]}
  validations: [{expression: "has(object.metadata.labels.team)", message: "pods need the label team"}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: tare-closed}
spec:
  policyName: tare-closed
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: tare-closed}}}
`, "apply", "-f", "-")
	t.Cleanup(func() {
		kubectl(t, "", "delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", "tare-closed")
	})
	table := []struct{ name, options, says string }{
		{"memory", "limits: {memory: 128MiB}, with: {pod: {trouble: memory}}", `out of memory`},
		{"memory-gvisor", "runtime_class: gvisor, limits: {memory: 256MiB}, with: {pod: {trouble: memory}}", `OOMKilled`},
		{"spill", "namespace: tare-small, with: {pod: {trouble: spill}}", `the pod was evicted by its node|the pod failed: Evicted`},
		{"pull", "image: 127.0.0.1:1/absent:1", `ImagePullBackOff`},
		{"quota", "namespace: tare-full, limits: {cpus: 1}", `exceeded quota`},
		{"refused", "namespace: tare-closed", `pods need the label team`},
	}
	environments := []string{"runc: "}
	for _, f := range table {
		environments = append(environments, f.name+": "+f.options)
	}
	r := Begin(t, podStudy(t, account, environments, "", "", "{order: interleaved, blocks: 1}"))
	r.Strike(Fault{Name: "pods that fail", Status: 3, Fails: len(table), When: now, Inject: nothing})
	for _, f := range table {
		r.failedWith(f.name, f.says)
		rowOf("a pod that fails: "+f.name).times++
	}
	if fine := r.trialsIn("runc"); len(fine) != 1 || fine[0].Status != rundir.OK {
		t.Errorf("the baseline, without a fault: %+v", fine)
	}
	r.Finish()
}

// A pod that is taken away while it is measured is a failed trial with its reason. An API
// server that is away is waited for. A tare that was killed leaves its pods, and the run
// is resumed.
func TestKubernetesFaultsOfARun(t *testing.T) {
	needs.Cluster(t)
	needs.LongForm(t, "an API server is away for a minute")
	account := inCluster(t)
	r := Begin(t, podStudy(t, account, []string{"runc: ", "struck: with: {pod: {seconds: 20}}"}, "", "", "{order: interleaved, blocks: 3}"))
	table := []struct {
		name, says string
		inject     func(pod string)
	}{
		{"a pod that somebody deletes", "deleted by somebody else", func(pod string) {
			kubectl(t, "", "delete", "pod", pod, "-n", clustertest.Namespace, "--wait=false")
		}},
		{"a pod that is evicted by the API", "EvictionByEvictionAPI", func(pod string) {
			kubectl(t, fmt.Sprintf(`{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": %q, "namespace": %q}}`, pod, clustertest.Namespace),
				"create", "--raw", "/api/v1/namespaces/"+clustertest.Namespace+"/pods/"+pod+"/eviction", "-f", "-")
		}},
		{"an API server that is away for a minute", "the API server does not answer", func(string) {
			stopPart(t, "kube-apiserver")
			time.AfterFunc(time.Minute, func() { launch(t, "kube-apiserver") })
		}},
	}
	r.Strike(Fault{
		Name: "kill -9 of tare with pods in a cluster", Status: Killed,
		When:   func(s *Session) { s.Until(`"trying"`, `"environment":"struck"`); s.working() },
		Inject: func(s *Session) func() { s.Signal(syscall.SIGKILL); return nil },
	})
	r.Strike(Fault{
		Name: "pods that are taken away", Status: 3, Fails: len(table),
		When: now,
		Inject: func(s *Session) func() {
			for _, f := range table {
				s.Until(`"trying"`, `"environment":"struck"`)
				pod, _ := s.working()
				f.inject(pod)
				s.Until(`"tried"`)
			}
			return func() {
				kubectl(t, "", "wait", "--for=condition=Ready", "nodes", "--all", "--timeout=60s")
			}
		},
	})
	trials := r.trialsIn("struck")
	for n, f := range table {
		rowOf(f.name).times++
		if n >= len(trials) || trials[n].Status != rundir.Failed || !strings.Contains(trials[n].Reason+trials[n].Output, f.says) {
			t.Errorf("%s: nothing says %q: %+v", f.name, f.says, trials)
		}
	}
	r.Finish()
}

// Both nodes work on blocks when tare is killed. The resumed run makes the trials that
// were under way again, each on its node, and no other. It needs both nodes, which
// TestKubernetesFaultsOfANode takes away.
func TestKubernetesFaultsOfTwoLanes(t *testing.T) {
	account := inCluster(t)
	r := Begin(t, podStudy(t, account, []string{"runc: ", "other: "}, "nodes: all\n", ", seconds: 3", "{order: interleaved, blocks: 4, fresh: trial}"))
	r.Strike(Fault{
		Name: "kill -9 of tare with blocks on two nodes", Status: Killed,
		When: func(s *Session) {
			s.WaitFor("pods at work on both nodes", func() bool { return len(s.atWork()) == 2 })
		},
		Inject: func(s *Session) func() { s.Signal(syscall.SIGKILL); return nil },
	})
	r.Finish()
	run, err := rundir.Open(r.Directory)
	if err != nil {
		t.Fatal(err)
	}
	nodes, blocks := map[string]int{}, map[int]string{}
	for _, trial := range run.Trials {
		nodes[trial.Node]++
		if node, known := blocks[trial.Block]; known && node != trial.Node {
			t.Errorf("block %d ran on %s and %s", trial.Block, node, trial.Node)
		}
		blocks[trial.Block] = trial.Node
	}
	if len(nodes) != 2 {
		t.Errorf("trials by node: %v", nodes)
	}
}

// A node whose kubelet and container runtime are gone gets no more blocks, and the run
// goes on with the other one.
func TestKubernetesFaultsOfANode(t *testing.T) {
	t.Parallel()
	account := inCluster(t)
	r := Begin(t, podStudy(t, account, []string{"runc: "}, "nodes: all\n", ", seconds: 2", "{order: interleaved, blocks: 14, fresh: trial}"))
	r.Strike(Fault{
		Name: "a node that is lost", Status: 3, Fails: -1, Says: `node node-2 gets no more blocks: everything failed in 2 blocks in a row: .*node node-2 `,
		When: func(s *Session) {
			for node := ""; node != "node-2"; {
				_, node = s.working()
			}
		},
		Inject: func(*Session) func() {
			stopPart(t, "node-2-kubelet")
			stopPart(t, "node-2-containerd")
			return func() {
				launch(t, "node-2-containerd")
				// The kubelet enters its mounts, so it has to be there.
				for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
					if c, err := net.Dial("unix", filepath.Join(os.Getenv(clustertest.Variable), "node-2/containerd.sock")); err == nil {
						c.Close()
						break
					}
				}
				launch(t, "node-2-kubelet")
				kubectl(t, "", "wait", "--for=condition=Ready", "node/node-2", "--timeout=60s")
			}
		},
	})
	for _, trial := range r.trialsIn("runc") {
		t.Logf("block %d on %s: %s %s", trial.Block, trial.Node, trial.Status, trial.Reason)
		if trial.Node == "node-1" && trial.Status != rundir.OK {
			t.Errorf("on the other node a trial failed: %s", trial.Reason)
		}
	}
}

// The namespace is deleted in the middle: what is left of the run fails, and it ends with
// a report.
func TestKubernetesFaultsOfANamespace(t *testing.T) {
	t.Parallel()
	account := inCluster(t, "tare-deleted")
	r := Begin(t, podStudy(t, account, []string{"runc: namespace: tare-deleted"}, "", ", seconds: 20", "{order: interleaved, blocks: 2, fresh: trial}"))
	r.Strike(Fault{
		Name: "a namespace that is deleted", Status: 3, Fails: 2, Says: `deleted by somebody else(.|\n)*namespaces? .?tare-deleted`,
		When: func(s *Session) { s.working() },
		Inject: func(*Session) func() {
			kubectl(t, "", "delete", "namespace", "tare-deleted", "--wait=false")
			return nil
		},
	})
}

// The pods of a tare that was killed are removed by another home's run in their namespace
// once the lease has expired, although its watches are never answered.
func TestKubernetesFaultsOfACoordinator(t *testing.T) {
	t.Parallel()
	account := inCluster(t, "tare-shared")
	study := podStudy(t, account, []string{"runc: namespace: tare-shared"}, "", ", seconds: 20", "{order: interleaved, blocks: 1}")
	r := Begin(t, study)
	dead := r.session()
	pod, _ := dead.working()
	dead.Signal(syscall.SIGKILL)
	dead.end()
	lease := kubectl(t, "", "get", "lease", "-n", "tare-shared", "-l", cleanup.Label, "-o", "name")
	kubectl(t, "", "patch", lease, "-n", "tare-shared", "--type=merge", "-p", `{"spec": {"leaseDurationSeconds": 1}}`)
	expires := time.After(3 * time.Second) // the API server counts seconds

	proxied := silentWatches(t, account)
	<-expires
	other := Begin(t, podStudy(t, proxied, []string{"runc: namespace: tare-shared"}, "", "", "{order: interleaved, blocks: 1}"))
	other.Strike(Fault{Name: "watches that say nothing", Says: "removed pod " + pod, When: now, Inject: nothing})
	const name = "pods of a tare that was killed, and whose lease has expired"
	rowOf(name).times++
	if left := clustertest.Left(r.Home.ids); len(left) > 0 {
		t.Errorf("%s: left behind: %q", name, left)
	}
	r.Clean(name)
	other.Finish()
}
