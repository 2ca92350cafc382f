package vmi

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"tare/internal/base/quantity"
	"tare/internal/environment/support/hypervisor"
)

func parsed(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	if err := o.UnmarshalJSON(must(o.MarshalJSON())); err != nil { // whole numbers as int64, as from the API
		t.Fatal(err)
	}
	return o
}

func must(text []byte, _ error) []byte { return text }

const template = `
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: debian, labels: {not: copied}}
spec:
  runStrategy: Halted
  template:
    metadata: {labels: {app: bench}, annotations: {kubevirt.io/keep-launcher-alive-after-failure: "true"}}
    spec:
      evictionStrategy: LiveMigrate
      terminationGracePeriodSeconds: 180
      aFieldOfANewerKubeVirt: {kept: true}
      domain:
        cpu: {sockets: 2, threads: 2, maxSockets: 8, model: host-passthrough}
        memory: {guest: 4Gi, maxGuest: 16Gi}
        resources: {requests: {memory: 4Gi}, limits: {memory: 5Gi}}
        firmware: {uuid: 5d307ca9-b3ef-428c-8861-06e72d69f223, serial: "1", bootloader: {efi: {}}}
        devices:
          interfaces: [{name: default, masquerade: {}, macAddress: "02:00:00:00:00:01"}]
      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
        {matchExpressions: [{key: disk, operator: In, values: [nvme]}]}, {matchExpressions: [{key: disk, operator: In, values: [ssd]}]}]}}}
      volumes:
        - {name: root, persistentVolumeClaim: {claimName: debian-root}}
        - {name: data, dataVolume: {name: debian-data}}
        - {name: tools, containerDisk: {image: example.org/tools}}
        - {name: seed, cloudInitNoCloud: {userData: "#cloud-config"}}
`

func TestAnInstanceIsTheTemplateWithDisksOfItsOwn(t *testing.T) {
	vmi, err := instanceOf(parsed(t, template), "tare-a-b")
	if err != nil {
		t.Fatal(err)
	}
	if err := resize(vmi, hypervisor.Size{CPUs: 2, Quota: 1.5, Memory: 2 * quantity.GiB}); err != nil {
		t.Fatal(err)
	}
	if err := place(vmi, "node-3"); err != nil {
		t.Fatal(err)
	}
	want := parsed(t, `
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: tare-a-b, labels: {app: bench}, annotations: {kubevirt.io/keep-launcher-alive-after-failure: "true"}}
spec:
  evictionStrategy: None
  terminationGracePeriodSeconds: 0
  aFieldOfANewerKubeVirt: {kept: true}
  domain:
    cpu: {cores: 2, sockets: 1, threads: 1, model: host-passthrough}
    memory: {guest: 2Gi}
    resources: {requests: {cpu: 1500m}, limits: {cpu: 1500m}}
    firmware: {bootloader: {efi: {}}}
    devices:
      interfaces: [{name: default, masquerade: {}}]
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [
    {matchExpressions: [{key: disk, operator: In, values: [nvme]}], matchFields: [{key: metadata.name, operator: In, values: [node-3]}]},
    {matchExpressions: [{key: disk, operator: In, values: [ssd]}], matchFields: [{key: metadata.name, operator: In, values: [node-3]}]}]}}}
  volumes:
    - {name: root, ephemeral: {persistentVolumeClaim: {claimName: debian-root}}}
    - {name: data, ephemeral: {persistentVolumeClaim: {claimName: debian-data}}}
    - {name: tools, containerDisk: {image: example.org/tools}}
    - {name: seed, cloudInitNoCloud: {userData: "#cloud-config"}}
`)
	if d := cmp.Diff(want.Object, vmi.Object); d != "" {
		t.Error(d)
	}
}

func TestATemplateThatInstancesWouldShareIsRefused(t *testing.T) {
	for _, c := range []struct{ spec, want string }{
		{`{}`, "it has no spec.template"},
		{`{template: {metadata: {}}}`, "it has no spec.template.spec"},
		{`{preference: {name: linux}, template: {spec: {}}}`, "its preference describes a part of the VM"},
		{`{template: {spec: {volumes: [{name: root, hostDisk: {path: /disk.img, type: Disk}}]}}}`, "volume root: instances of mode: linked would share its hostDisk"},
	} {
		_, err := instanceOf(parsed(t, "{apiVersion: kubevirt.io/v1, kind: VirtualMachine, metadata: {name: debian}, spec: "+c.spec+"}"), "x")
		if err == nil || !strings.Contains(err.Error(), "template debian: "+c.want) {
			t.Errorf("%s: %v", c.spec, err)
		}
	}
}

func TestTheSizeOfAVMIsReadAsKubeVirtDoes(t *testing.T) {
	for _, c := range []struct {
		name, spec, status string
		cpus               int
		memory             string
		bound              float64
	}{
		{"nothing", `{domain: {}}`, `{}`, 1, "0B", 1},
		{"topology and guest memory", `{domain: {cpu: {cores: 2, threads: 2}, memory: {guest: 1Gi}, resources: {requests: {memory: 2Gi}}}}`, `{}`, 4, "1GiB", 4},
		{"resources alone", `{domain: {resources: {requests: {cpu: 1500m, memory: 512Mi}}}}`, `{}`, 2, "512MiB", 2},
		{"a limit of CPUs", `{domain: {cpu: {cores: 2}, resources: {limits: {cpu: 500m}}, memory: {guest: 1Gi}}}`, `{}`, 2, "1GiB", 0.5},
		{"what runs", `{domain: {cpu: {cores: 2}, memory: {guest: 1Gi}}}`, `{currentCPUTopology: {cores: 4, sockets: 1, threads: 1}, memory: {guestCurrent: 3Gi}}`, 4, "3GiB", 4},
	} {
		cpus, memory, bound := sizeOf(parsed(t, "{kind: x, spec: "+c.spec+"}").Object["spec"].(object), parsed(t, "{kind: x, status: "+c.status+"}").Object["status"].(object))
		if cpus != c.cpus || memory.String() != c.memory || bound != c.bound {
			t.Errorf("%s: %d CPUs, %s, bound %v", c.name, cpus, memory, bound)
		}
	}
}

func TestWhyAVMDoesNotRun(t *testing.T) {
	for _, c := range []struct {
		status, want string
		may          time.Duration
	}{
		{`{phase: Scheduling}`, "", 0},
		{`{phase: Running, conditions: [{type: Ready, status: "True"}]}`, "", 0},
		{`{phase: Scheduling, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: 0/3 nodes are available}]}`, "no node takes it: Unschedulable: 0/3 nodes are available", unschedulable},
		{`{phase: Pending, conditions: [{type: Synchronized, status: "False", reason: FailedCreate, message: "exceeded quota: cpus"}]}`, "FailedCreate: exceeded quota: cpus", notYet},
		{`{phase: Failed, conditions: [{type: Ready, status: "False", reason: PodTerminating, message: virt-launcher pod is terminating}]}`, "it ended: PodTerminating: virt-launcher pod is terminating", 0},
		{`{phase: Succeeded}`, "it ended", 0},
	} {
		may, why := failure(parsed(t, "{kind: VirtualMachineInstance, metadata: {name: vm}, status: "+c.status+"}"))
		text := ""
		if why != nil {
			text = why.Error()
		}
		if text != c.want || may != c.may {
			t.Errorf("%s: %q, %v", c.status, text, may)
		}
	}
}

func TestTheAddressIsTheFirstOfIPv4(t *testing.T) {
	for status, want := range map[string]string{
		`{}`: "",
		`{interfaces: [{ipAddress: "fd00::1", ipAddresses: ["fd00::1", 10.0.2.7]}]}`:   "10.0.2.7",
		`{interfaces: [{ipAddress: 169.254.1.1}, {ipAddress: 10.1.1.1}]}`:              "10.1.1.1",
		`{interfaces: [{name: default}, {ipAddress: 10.2.2.2, ipAddresses: ["x y"]}]}`: "10.2.2.2",
	} {
		if got := addressOf(parsed(t, "{kind: VirtualMachineInstance, status: "+status+"}")); got != want {
			t.Errorf("%s: %q", status, got)
		}
	}
}

func TestOptionsThatKubeVirtCannotServeAreRefused(t *testing.T) {
	for _, c := range []struct {
		change func(*hypervisor.Options)
		want   string
	}{
		{func(*hypervisor.Options) {}, ""},
		{func(o *hypervisor.Options) { o.Mode = "clone" }, "mode: clone is not supported on KubeVirt"},
		{func(o *hypervisor.Options) { o.Mode = "restore" }, "mode: restore is not supported on KubeVirt"},
		{func(o *hypervisor.Options) { o.Snapshot = "fresh" }, "snapshot: a VirtualMachine of KubeVirt has one state"},
		{func(o *hypervisor.Options) { o.Template = "" }, "template: missing"},
	} {
		o := hypervisor.Defaults()
		o.Template = "debian"
		c.change(&o)
		if err := Validate(&o); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
