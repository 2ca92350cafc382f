// Command fakevboxmanage is a test double of VirtualBox's VBoxManage: the commands
// that tare uses, and of its refusals those that tare acts on. Its VMs are files in the
// directory of this program. A running VM is a process named VBoxHeadless with a fake
// guest.
//
// Unknown commands and options are errors. What a real VirtualBox did is on the page of the
// environment: its guests came as far as their SSH server, under an emulated processor.
package main

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"

	"tare/internal/testing/sshguest"
)

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
	switch {
	case filepath.Base(os.Args[0]) == "VBoxHeadless":
		headless(folder, os.Args[slices.Index(os.Args, "--startvm")+1])
		return
	case slices.Equal(os.Args[1:], []string{"--version"}):
		fmt.Println("7.0.20r163906")
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
type refusal struct{ text, code string }

func (r refusal) Error() string {
	text := "VBoxManage: error: " + r.text + "\n"
	if r.code != "" {
		text += "VBoxManage: error: Details: code " + r.code + ", component MachineWrap, interface IMachine, callee nsISupports\n"
	}
	return text
}

const (
	objectNotFound = "VBOX_E_OBJECT_NOT_FOUND (0x80bb0001)"
	objectState    = "VBOX_E_INVALID_OBJECT_STATE (0x80bb0007)"
)

// command is one of VBoxManage: what it does with a VM, whose name is the first of its
// words, and with the others. options are the names of its options and those given.
type command struct {
	values, switches []string
	run              func(b *box, v *machine, words []string, options map[string]string) error
}

// noMachine are the commands that are not about a VM that there is.
var noMachine = []string{"list", "createvm"}

var commands = map[string]command{
	"list":         {run: (*box).list},
	"createvm":     {values: []string{"name"}, switches: []string{"register"}, run: (*box).create},
	"showvminfo":   {switches: []string{"machinereadable"}, run: (*box).show},
	"clonevm":      {values: []string{"name", "snapshot", "options", "basefolder"}, switches: []string{"register"}, run: (*box).clone},
	"modifyvm":     {values: []string{"cpus", "memory", "ioapic", "nic1", "hostonlyadapter1", "bridgeadapter1", "natpf1"}, run: (*box).modify},
	"snapshot":     {run: (*box).snapshot},
	"startvm":      {values: []string{"type"}, run: (*box).start},
	"controlvm":    {run: (*box).control},
	"unregistervm": {switches: []string{"delete"}, run: (*box).unregister},
	"setextradata": {run: (*box).setExtra},
	"getextradata": {run: func(_ *box, v *machine, words []string, _ map[string]string) error {
		return printValue(v.Extra[words[0]])
	}},
	// "guestproperty get VM PROPERTY": tare asks for the address alone.
	"guestproperty": {run: func(_ *box, v *machine, _ []string, _ map[string]string) error {
		return printValue(v.Address)
	}},
}

func (b *box) do(words []string) error {
	name := words[0]
	c, known := commands[name]
	if !known {
		return refusal{text: "Invalid command '" + name + "'"}
	}
	flags := pflag.NewFlagSet(name, pflag.ContinueOnError)
	for _, option := range c.values {
		flags.String(option, "", "")
	}
	for _, option := range c.switches {
		flags.Bool(option, false, "")
	}
	if err := flags.Parse(words[1:]); err != nil {
		return refusal{text: err.Error()}
	}
	options := map[string]string{}
	flags.Visit(func(f *pflag.Flag) { options[f.Name] = f.Value.String() })
	words = flags.Args()
	if name == "guestproperty" {
		words = words[1:]
	}
	if slices.Contains(noMachine, name) {
		return c.run(b, nil, words, options)
	}
	if len(words) == 0 {
		return refusal{text: "Missing VM name"}
	}
	v, err := b.find(words[0])
	if err != nil {
		return err
	}
	return c.run(b, v, words[1:], options)
}

func (b *box) list(*machine, []string, map[string]string) error {
	for _, v := range b.State {
		fmt.Printf("%q {%s}\n", v.Name, v.UUID)
	}
	return nil
}

func (b *box) create(_ *machine, _ []string, options map[string]string) error {
	b.add(options["name"], settings{Values: map[string]string{"cpus": "1", "memory": "1024", "nic1": "nat"}})
	return nil
}

func (b *box) show(v *machine, _ []string, _ map[string]string) error {
	fmt.Printf("name=%q\nUUID=%q\nVMState=%q\n", v.Name, v.UUID, v.condition())
	for _, key := range slices.Sorted(maps.Keys(v.Settings.Values)) {
		fmt.Printf("%s=%q\n", key, v.Settings.Values[key])
	}
	for n, rule := range v.Settings.Forwards {
		fmt.Printf("Forwarding(%d)=%q\n", n, rule)
	}
	if len(v.Snapshots) > 0 {
		fmt.Printf("CurrentSnapshotUUID=%q\n", v.Snapshots[len(v.Snapshots)-1].UUID)
	}
	return nil
}

func (b *box) clone(from *machine, _ []string, options map[string]string) error {
	source := from.Settings
	if name := options["snapshot"]; name != "" {
		s, err := from.find(name)
		if err != nil {
			return err
		}
		source = s.Settings
	} else if options["options"] == "link" {
		return refusal{"Linked clone can only be created from a snapshot", "E_INVALIDARG (0x80070057)"}
	} else if err := from.unlocked(); err != nil {
		return err // VirtualBox cannot clone the current state of a running VM
	}
	b.add(options["name"], source)
	return nil
}

func (b *box) modify(v *machine, words []string, options map[string]string) error {
	if err := v.unlocked(); err != nil {
		return err
	}
	rule, given := options["natpf1"] // "name,tcp,address,port,guest address,guest port"
	delete(options, "natpf1")
	maps.Copy(v.Settings.Values, options)
	switch s := &v.Settings; {
	case rule == "delete":
		s.Forwards = slices.DeleteFunc(s.Forwards, func(r string) bool { return strings.HasPrefix(r, words[0]+",") })
	case given:
		s.Forwards = append(s.Forwards, rule)
	}
	return nil
}

func (b *box) snapshot(v *machine, words []string, _ map[string]string) error {
	switch name := strings.Join(words[1:], " "); words[0] {
	case "take":
		v.Snapshots = append(v.Snapshots, snapshot{name, rand.Text(), v.Settings})
		return nil
	case "restore", "restorecurrent":
		if err := v.unlocked(); err != nil {
			return err
		}
		if words[0] == "restorecurrent" && len(v.Snapshots) > 0 {
			name = v.Snapshots[len(v.Snapshots)-1].Name
		}
		s, err := v.find(name)
		if err != nil {
			return err
		}
		v.Settings = s.Settings
		return os.RemoveAll(b.disk(v))
	}
	return refusal{text: "Invalid parameter '" + words[0] + "'"}
}

func (b *box) start(v *machine, _ []string, options map[string]string) error {
	if options["type"] != "headless" {
		return refusal{text: "Invalid frontend type: '" + options["type"] + "'"}
	}
	if err := v.unlocked(); err != nil {
		return err
	}
	if err := b.launch(v); err != nil {
		return refusal{text: err.Error()}
	}
	v.Ran = true
	return nil
}

func (b *box) control(v *machine, words []string, _ map[string]string) error {
	if !slices.Equal(words, []string{"poweroff"}) {
		return refusal{text: "Invalid parameter '" + strings.Join(words, " ") + "'"}
	}
	if v.condition() != "running" {
		return refusal{text: fmt.Sprintf("Machine '%s' is not currently running.", v.Name)}
	}
	_ = syscall.Kill(v.PID, syscall.SIGKILL)
	for alive(v.PID) {
		time.Sleep(10 * time.Millisecond)
	}
	// The session is closed some time after the machine is off.
	v.PID, v.Ran, v.Locked = 0, false, time.Now().Add(400*time.Millisecond)
	return nil
}

func (b *box) unregister(v *machine, _ []string, _ map[string]string) error {
	if err := v.unlocked(); err != nil {
		return err
	}
	b.State = slices.DeleteFunc(b.State, func(w *machine) bool { return w == v })
	return os.RemoveAll(b.disk(v))
}

func (b *box) setExtra(v *machine, words []string, _ map[string]string) error {
	if delete(v.Extra, words[0]); len(words) == 2 {
		v.Extra[words[0]] = words[1]
	}
	return nil
}

func printValue(value string) error {
	if value != "" {
		value = "Value: " + value
	}
	fmt.Println(cmp.Or(value, "No value set!"))
	return nil
}
