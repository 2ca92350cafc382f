package virtualbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"tare/internal/environment/support/hypervisor"
	"tare/internal/testing/needs"
	"tare/internal/testing/virtualboxtest"
)

// fake is a fake VBoxManage for one test, with a VM called template that has
// a snapshot called fresh.
func fake(t *testing.T) (*Options, client) {
	t.Helper()
	text, err := virtualboxtest.Fake(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := defaults()
	if err := json.Unmarshal([]byte(text), o); err != nil {
		t.Fatal(err)
	}
	c := client{Program: o.Program}
	t.Cleanup(func() {
		names, _ := c.list(context.Background())
		for _, name := range names {
			c.run(context.Background(), "controlvm", name, "poweroff")
		}
	})
	return o, c
}

func (c client) must(t *testing.T, words ...string) string {
	t.Helper()
	out, err := c.retryLocked(t.Context(), words...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestWhatVBoxManageRefusesIsSaidInItsWordsWithItsCode(t *testing.T) {
	const details = "VBoxManage: error: Details: code %s, component MachineWrap, interface IMachine, callee nsISupports\n" +
		"VBoxManage: error: Context: \"FindMachine(Bstr(VMNameOrUuid).raw(), machine.asOutParam())\" at line 2611 of file VBoxManageInfo.cpp\n"
	for _, r := range []struct {
		text, code string
	}{
		{"Could not find a registered machine named 'nobody'", "VBOX_E_OBJECT_NOT_FOUND (0x80bb0001)"},
		{"The machine 'running' is already locked by a session (or being locked or unlocked)", "VBOX_E_INVALID_OBJECT_STATE (0x80bb0007)"},
		{"Invalid RAM size: 2 MB (must be in range [4, 2097152] MB)", "NS_ERROR_INVALID_ARG (0x80070057)"},
		{"Machine 'template' is not currently running.", ""},
		{"Invalid command 'dance'", ""},
	} {
		output := "VBoxManage: error: " + r.text + "\n"
		if r.code != "" {
			output += fmt.Sprintf(details, r.code)
		}
		code, _, _ := strings.Cut(r.code, " ")
		said := "VBoxManage showvminfo vm: " + r.text
		if code != "" {
			said += ", " + code
		}
		err := explain([]string{"showvminfo", "vm"}, "exit status 1", output)
		if err.Error() != said+" (exit status 1)" || err.code != code {
			t.Errorf("code %q: %v", err.code, err)
		}
		if off(err) != strings.Contains(r.text, "not currently running") {
			t.Errorf("whether the VM is off: %v", err)
		}
	}
}

func TestARefusalOfTheProgramHasItsCommandAndStatus(t *testing.T) {
	needs.Root(t) // a running VM is a guest in namespaces of its own
	_, c := fake(t)
	c.must(t, "clonevm", "template", "--name", "running", "--register")
	c.must(t, "startvm", "running", "--type", "headless")
	for words, code := range map[string]string{
		"showvminfo nobody --machinereadable": notFound, "snapshot template restore stale": notFound,
		"startvm running --type headless": badState, "modifyvm running --cpus 2": badState,
		"modifyvm template --colour red": "", "controlvm template poweroff": "",
	} {
		_, err := c.run(t.Context(), strings.Fields(words)...)
		var refused *refusal
		if !errors.As(err, &refused) || refused.exit != "exit status 1" || refused.code != code || !strings.HasPrefix(err.Error(), "VBoxManage "+words+": ") {
			t.Errorf("%s: %v", words, err)
		}
	}
	c.must(t, "controlvm", "running", "poweroff")
	if _, err := c.run(t.Context(), "unregistervm", "running", "--delete"); !refused(err, badState) {
		t.Errorf("just after its end a VM is still locked, and the fake returned %v", err)
	}
	c.must(t, "unregistervm", "running", "--delete")
}

func TestInfoIsReadAsVBoxManageWritesIt(t *testing.T) {
	text, err := os.ReadFile("testdata/showvminfo.txt")
	if err != nil {
		t.Fatal(err)
	}
	i := parseInfo(string(text))
	for key, want := range map[string]string{
		"name": "crm default", "UUID": "59f30729-40e4-4736-aa19-d69fc5450236", "VMState": "running", "cpus": "2", "memory": "4096", "nic1": "nat",
		"CurrentSnapshotUUID": "2e4f1c0a-5a29-4f0e-b1df-6a3a76bd6d35", "SATA Controller-0-0": "/home/ada/VirtualBox VMs/crm/disk.vdi",
	} {
		if i[key] != want {
			t.Errorf("%s is %q, want %q", key, i[key], want)
		}
	}
	if !i.forwards("ssh") || i.forwards("tare-ssh") {
		t.Error("a forwarding rule is missing, or it has one of tare's")
	}
}

func TestTheTestDoubleMatchesTheClient(t *testing.T) {
	o, c := fake(t)
	version, warning, err := c.version(t.Context())
	if err != nil || version != "7.0.20r163906" || warning != "" {
		t.Errorf("%q, %q, %v", version, warning, err)
	}
	names, err := c.list(t.Context())
	if err != nil || len(names) != 1 || names[0] != "template" {
		t.Errorf("%q, %v", names, err)
	}
	b := newBox(*o)
	v := hypervisor.VM{Name: "template"}
	if err := b.Label(t.Context(), v, map[string]string{hypervisor.OwnerLabel: "a b", hypervisor.HomeLabel: "/x=y"}); err != nil {
		t.Fatal(err)
	}
	s, err := b.State(t.Context(), "template")
	if err != nil || s.On || s.Word != "poweroff" || s.Labels[hypervisor.OwnerLabel] != "a b" || s.Labels[hypervisor.HomeLabel] != "/x=y" || len(s.Labels) != 2 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := b.State(t.Context(), "nobody"); !errors.Is(err, hypervisor.ErrNone) {
		t.Errorf("a VM that is not there: %v", err)
	}
}

func TestAWarningAboveTheVersionIsAMissingModule(t *testing.T) {
	file := filepath.Join(t.TempDir(), "VBoxManage")
	script := "#!/bin/sh\ncat <<END\nWARNING: The character device /dev/vboxdrv does not exist.\n\t Please install the virtualbox-dkms package.\n\n6.1.50_Debianr161033\nEND\n"
	if err := os.WriteFile(file, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	f := client{Program: file}.check(t.Context())
	if f.State != "missing" || !strings.Contains(f.Reason, "/dev/vboxdrv does not exist") || !strings.Contains(f.Fix.String(), "vboxconfig") {
		t.Errorf("%+v", f)
	}
	f = client{Program: filepath.Join(t.TempDir(), "VBoxManage")}.check(t.Context())
	if f.State != "missing" || !strings.Contains(f.Fix.String(), "install VirtualBox") {
		t.Errorf("%+v", f)
	}
}

func TestAVMsProcessAndItsVirtualCPUsAreFoundByTheirNames(t *testing.T) {
	needs.Root(t)
	_, c := fake(t)
	c.must(t, "modifyvm", "template", "--cpus", "3")
	c.must(t, "startvm", "template", "--type", "headless")
	about, err := c.info(t.Context(), "template")
	if err != nil {
		t.Fatal(err)
	}
	pid, err := processOf(about["UUID"])
	if err != nil {
		t.Fatal(err)
	}
	if line, _ := exec.Command("ps", "-o", "args=", "-p", strconv.Itoa(pid)).Output(); !strings.Contains(string(line), "VBoxHeadless --comment template --startvm") {
		t.Errorf("process %d is %s", pid, line)
	}
	for len(virtualCPUs("/proc", pid)) < 3 { // they name themselves
		if err := t.Context().Err(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := processOf("00000000-0000"); err == nil {
		t.Error("a process of a VM that does not run was found")
	}
}
