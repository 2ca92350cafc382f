package conformance

import (
	"encoding/json"
	"path/filepath"

	"tare/internal/testing/kubevirttest"
	"tare/internal/testing/virtualboxtest"
	"tare/internal/testing/vspheretest"
)

// virtualBox is a double of VBoxManage beside the home, whose VMs have a real
// sshd.
func virtualBox(home string) (string, error) {
	return virtualboxtest.Fake(filepath.Join(filepath.Dir(home), "virtualbox"))
}

// vSphere is the simulator of a vCenter, whose VMs have a real sshd. It lasts as
// long as the test's process; one that is started to be killed finds it.
func vSphere(home string) (string, error) {
	return vspheretest.Fake(filepath.Join(filepath.Dir(home), "vcsim"))
}

// kubeVirt is a double of KubeVirt in a real API server, whose VMs have a real sshd.
func kubeVirt(home string) (string, error) {
	c, err := kubevirttest.Fake(filepath.Join(filepath.Dir(home), "kubevirt"))
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(map[string]string{
		"as": "vmi", "kubeconfig": c.Kubeconfig, "template": "template", "identity": c.Keys.Identity(), "host_key": c.Keys.HostKey(),
	})
	return string(text), err
}
