// Command fakevboxmanage is a test double of VirtualBox's VBoxManage: the commands
// that tare uses, with VirtualBox's error messages (from its sources and from users'
// reports). Its VMs are files in the directory of this program. A running VM is a
// process named VBoxHeadless with a fake guest.
//
// Unknown commands and options are errors.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tare/internal/testing/sshguest"
)

const version = "7.0.20r163906"

func main() {
	sshguest.RunIfAsked()
	folder := os.Getenv("VBOX_USER_HOME")
	if folder == "" {
		self, err := os.Executable()
		if err != nil {
			panic(err)
		}
		folder = filepath.Dir(self)
	}
	if filepath.Base(os.Args[0]) == "VBoxHeadless" {
		headless(os.Args[1:])
		return
	}
	if len(os.Args) == 2 && os.Args[1] == "--version" {
		fmt.Println(version)
		return
	}
	b := open(folder)
	err := b.do(os.Args[1:])
	b.close(err == nil)
	if err != nil {
		fmt.Fprint(os.Stderr, err)
		os.Exit(1)
	}
}

// refusal is the error output of VBoxManage.
type refusal struct{ text, code, context string }

func (r refusal) Error() string {
	text := "VBoxManage: error: " + r.text + "\n"
	if r.code != "" {
		text += "VBoxManage: error: Details: code " + r.code + ", component MachineWrap, interface IMachine, callee nsISupports\n"
		text += "VBoxManage: error: Context: \"" + r.context + "\" at line 1 of file VBoxManage.cpp\n"
	}
	return text
}

const (
	objectNotFound = "VBOX_E_OBJECT_NOT_FOUND (0x80bb0001)"
	vmState        = "VBOX_E_INVALID_VM_STATE (0x80bb0002)"
	objectState    = "VBOX_E_INVALID_OBJECT_STATE (0x80bb0007)"
	fileError      = "VBOX_E_FILE_ERROR (0x80bb0004)"
	invalidArg     = "NS_ERROR_INVALID_ARG (0x80070057)"
)

func (b *box) do(words []string) error {
	if len(words) == 0 {
		return refusal{text: "Missing command"}
	}
	commands := map[string]func([]string) error{
		"list": b.list, "showvminfo": b.show, "createvm": b.create, "clonevm": b.clone, "modifyvm": b.modify,
		"startvm": b.start, "controlvm": b.control, "unregistervm": b.unregister, "snapshot": b.snapshot,
		"setextradata": b.setExtra, "getextradata": b.getExtra, "guestproperty": b.property,
	}
	command, known := commands[words[0]]
	if !known {
		return refusal{text: "Invalid command '" + words[0] + "'"}
	}
	return command(words[1:])
}

// flags splits words into arguments and known flags with their values ("--name x" or
// "--name=x"); a known flag with a trailing "!" has no value.
func flags(words []string, known ...string) (plain []string, values map[string]string, err error) {
	values = map[string]string{}
	for n := 0; n < len(words); n++ {
		if !strings.HasPrefix(words[n], "--") {
			plain = append(plain, words[n])
			continue
		}
		flag, value, whole := strings.Cut(words[n], "=")
		switch {
		case slices.Contains(known, flag+"!"):
			values[flag] = "yes"
		case !slices.Contains(known, flag):
			return nil, nil, refusal{text: "Unknown option: " + words[n]}
		case whole:
			values[flag] = value
		case n+1 == len(words):
			return nil, nil, refusal{text: "Option '" + flag + "' requires a value"}
		default:
			n++
			values[flag] = words[n]
		}
	}
	return plain, values, nil
}

func (b *box) list(words []string) error {
	if !slices.Equal(words, []string{"vms"}) {
		return refusal{text: "Unknown subcommand: '" + strings.Join(words, " ") + "'"}
	}
	for _, v := range b.State.VMs {
		fmt.Printf("%q {%s}\n", v.Name, v.UUID)
	}
	return nil
}

func (b *box) show(words []string) error {
	plain, values, err := flags(words, "--machinereadable!")
	if err != nil || len(plain) != 1 || values["--machinereadable"] == "" {
		return refusal{text: "Invalid parameters"}
	}
	v, err := b.find(plain[0])
	if err != nil {
		return err
	}
	fmt.Printf("name=%q\ngroups=\"/\"\nostype=\"Debian (64-bit)\"\nUUID=%q\nCfgFile=%q\nhardwareuuid=%q\nmemory=%d\nvram=16\ncpuexecutioncap=100\ncpus=%d\nioapic=%q\nVMState=%q\nVMStateChangeTime=\"2026-01-01T00:00:00.000000000\"\nnic1=%q\n",
		v.Name, v.UUID, filepath.Join(b.folder, v.Name, v.Name+".vbox"), v.UUID, v.Settings.Memory, v.Settings.CPUs, v.Settings.IOAPIC, b.condition(v), v.Settings.NIC)
	for n, rule := range v.Settings.Forwards {
		fmt.Printf("Forwarding(%d)=%q\n", n, rule)
	}
	for n, s := range v.Snapshots {
		suffix := strings.Repeat("-1", n)
		fmt.Printf("SnapshotName%s=%q\nSnapshotUUID%s=%q\n", suffix, s.Name, suffix, s.UUID)
		if n == len(v.Snapshots)-1 {
			fmt.Printf("CurrentSnapshotName=%q\nCurrentSnapshotUUID=%q\nCurrentSnapshotNode=\"SnapshotName%s\"\n", s.Name, s.UUID, suffix)
		}
	}
	return nil
}

func (b *box) create(words []string) error {
	_, values, err := flags(words, "--name", "--register!")
	if err != nil {
		return err
	}
	_, err = b.add(values["--name"])
	return err
}

func (b *box) clone(words []string) error {
	plain, values, err := flags(words, "--name", "--snapshot", "--options", "--register!", "--basefolder", "--mode")
	if err != nil {
		return err
	}
	if len(plain) != 1 {
		return refusal{text: "Missing VM name"}
	}
	from, err := b.find(plain[0])
	if err != nil {
		return err
	}
	source := from.Settings
	if name := values["--snapshot"]; name != "" {
		s, err := from.find(name)
		if err != nil {
			return err
		}
		source = s.Settings
	} else if values["--options"] == "link" {
		return refusal{"Linked clone can only be created from a snapshot", "E_INVALIDARG (0x80070057)", "CloneTo(trgMachine, mode, ComSafeArrayAsInParam(options), progress.asOutParam())"}
	} else if b.condition(from) == "running" {
		// VirtualBox cannot clone the current state of a running VM.
		return refusal{fmt.Sprintf("The machine '%s' is already locked for a session (or being unlocked)", from.Name), objectState, "CloneTo(trgMachine, mode, ComSafeArrayAsInParam(options), progress.asOutParam())"}
	}
	made, err := b.add(values["--name"])
	if err != nil {
		return err
	}
	made.Settings = source
	made.Settings.Forwards = slices.Clone(source.Forwards)
	fmt.Fprint(os.Stderr, "0%...10%...20%...30%...40%...50%...60%...70%...80%...90%...100%\n")
	fmt.Printf("Machine has been successfully cloned as %q\n", made.Name)
	return nil
}

func (b *box) snapshot(words []string) error {
	if len(words) < 2 {
		return refusal{text: "Not enough parameters"}
	}
	v, err := b.find(words[0])
	if err != nil {
		return err
	}
	switch name := strings.Join(words[2:], " "); words[1] {
	case "take":
		v.Snapshots = append(v.Snapshots, snapshot{name, newUUID(), v.Settings})
		return nil
	case "restore", "restorecurrent":
		if err := b.unlocked(v, "for a session (or being unlocked)", "LockMachine(pSession, LockType_Shared)"); err != nil {
			return err
		}
		if len(v.Snapshots) == 0 {
			return refusal{"This machine does not have any snapshots", objectNotFound, "FindSnapshot(Bstr(a->argv[2]).raw(), pSnapshot.asOutParam())"}
		}
		s := &v.Snapshots[len(v.Snapshots)-1]
		if words[1] == "restore" {
			if s, err = v.find(name); err != nil {
				return err
			}
		}
		fmt.Printf("Restoring snapshot '%s' (%s)\n", s.Name, s.UUID)
		v.Settings = s.Settings
		os.RemoveAll(b.disk(v))
		return nil
	}
	return refusal{text: "Invalid parameter '" + words[1] + "'"}
}

func (b *box) start(words []string) error {
	plain, values, err := flags(words, "--type")
	if err != nil || len(plain) != 1 || values["--type"] != "headless" {
		return refusal{text: "Invalid frontend type: '" + values["--type"] + "'"}
	}
	v, err := b.find(plain[0])
	if err != nil {
		return err
	}
	if err := b.unlocked(v, "by a session (or being locked or unlocked)", "LaunchVMProcess(a->session, sessionType.raw(), ComSafeArrayAsInParam(aBstrEnv), progress.asOutParam())"); err != nil {
		return err
	}
	fmt.Printf("Waiting for VM %q to power on...\n", v.Name)
	if v.PID, err = b.launch(v); err != nil {
		return refusal{text: err.Error()}
	}
	v.Ran = true
	fmt.Printf("VM %q has been successfully started.\n", v.Name)
	return nil
}

func (b *box) control(words []string) error {
	if len(words) != 2 || words[1] != "poweroff" {
		return refusal{text: "Invalid parameter '" + strings.Join(words, " ") + "'"}
	}
	v, err := b.find(words[0])
	if err != nil {
		return err
	}
	if b.condition(v) != "running" {
		return refusal{text: fmt.Sprintf("Machine '%s' is not currently running.", v.Name)}
	}
	fmt.Fprint(os.Stderr, "0%...10%...20%...30%...40%...50%...60%...70%...80%...90%...100%\n")
	end(v.PID)
	// The session is closed some time after the machine is off.
	v.PID, v.Ran, v.Locked = 0, false, time.Now().Add(400*time.Millisecond)
	return nil
}

func (b *box) unregister(words []string) error {
	plain, values, err := flags(words, "--delete!")
	if err != nil || len(plain) != 1 {
		return refusal{text: "Invalid parameters"}
	}
	v, err := b.find(plain[0])
	if err != nil {
		return err
	}
	if b.locked(v) {
		return refusal{fmt.Sprintf("Cannot unregister the machine '%s' while it is locked", v.Name), objectState, "Unregister(CleanupMode_DetachAllReturnHardDisksOnly, ComSafeArrayAsOutParam(aMedia))"}
	}
	if values["--delete"] != "" {
		os.RemoveAll(b.disk(v))
	}
	b.State.VMs = slices.DeleteFunc(b.State.VMs, func(w *machine) bool { return w == v })
	return nil
}

func (b *box) setExtra(words []string) error {
	if len(words) < 2 || len(words) > 3 {
		return refusal{text: "Invalid number of parameters"}
	}
	v, err := b.find(words[0])
	if err != nil {
		return err
	}
	if len(words) == 2 {
		delete(v.Extra, words[1])
	} else {
		v.Extra[words[1]] = words[2]
	}
	return nil
}

func (b *box) getExtra(words []string) error {
	if len(words) != 2 {
		return refusal{text: "Invalid number of parameters"}
	}
	v, err := b.find(words[0])
	if err != nil {
		return err
	}
	printValue(v.Extra[words[1]])
	return nil
}

func (b *box) property(words []string) error {
	if len(words) != 3 || words[0] != "get" {
		return refusal{text: "Unknown subcommand: '" + strings.Join(words, " ") + "'"}
	}
	v, err := b.find(words[1])
	if err != nil {
		return err
	}
	if words[2] == "/VirtualBox/GuestInfo/Net/0/V4/IP" && b.condition(v) == "running" {
		printValue(v.Address)
	} else {
		printValue("")
	}
	return nil
}

func printValue(value string) {
	if value == "" {
		fmt.Println("No value set!")
		return
	}
	fmt.Println("Value: " + value)
}
