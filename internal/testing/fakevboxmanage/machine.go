package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// settings are the part of a VM that a snapshot contains.
type settings struct {
	CPUs, Memory int
	IOAPIC       string
	NIC, Adapter string
	Forwards     []string
}

type snapshot struct {
	Name, UUID string
	Settings   settings
}

type machine struct {
	Name, UUID string
	Settings   settings
	Snapshots  []snapshot
	Extra      map[string]string
	PID        int    // of VBoxHeadless
	Ran        bool   // it was started and not powered off
	Address    string // of the guest
	Locked     time.Time
}

// box is the state of the fake, locked against other processes.
type box struct {
	folder string
	lock   *os.File
	State  struct {
		VMs  []*machine
		Next int // number of a guest's address
	}
}

func open(folder string) *box {
	b := &box{folder: folder}
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		panic(err)
	}
	b.lock = lock
	text, err := os.ReadFile(filepath.Join(folder, "state.json"))
	if err == nil {
		err = json.Unmarshal(text, &b.State)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		panic(err)
	}
	return b
}

func (b *box) close(keep bool) {
	if keep {
		text, err := json.MarshalIndent(b.State, "", "\t")
		if err == nil {
			err = os.WriteFile(filepath.Join(b.folder, "state.new"), text, 0o600)
		}
		if err == nil {
			err = os.Rename(filepath.Join(b.folder, "state.new"), filepath.Join(b.folder, "state.json"))
		}
		if err != nil {
			panic(err)
		}
	}
	b.lock.Close()
}

func (b *box) find(name string) (*machine, error) {
	for _, v := range b.State.VMs {
		if v.Name == name || v.UUID == name {
			return v, nil
		}
	}
	return nil, refusal{fmt.Sprintf("Could not find a registered machine named '%s'", name), objectNotFound, "FindMachine(Bstr(VMNameOrUuid).raw(), machine.asOutParam())"}
}

func (v *machine) find(name string) (*snapshot, error) {
	for n := range v.Snapshots {
		if v.Snapshots[n].Name == name || v.Snapshots[n].UUID == name {
			return &v.Snapshots[n], nil
		}
	}
	return nil, refusal{fmt.Sprintf("Could not find a snapshot named '%s'", name), objectNotFound, "FindSnapshot(Bstr(a->argv[2]).raw(), pSnapshot.asOutParam())"}
}

func (b *box) add(name string) (*machine, error) {
	if name == "" {
		return nil, refusal{text: "Parameter --name is required"}
	}
	if _, err := b.find(name); err == nil {
		return nil, refusal{fmt.Sprintf("Machine settings file '%s' already exists", filepath.Join(b.folder, name, name+".vbox")), fileError, "CreateMachine(NULL, Bstr(pszTrgName).raw())"}
	}
	v := &machine{Name: name, UUID: newUUID(), Extra: map[string]string{}}
	v.Settings = settings{CPUs: 1, Memory: 1024, IOAPIC: "on", NIC: "nat"}
	b.State.VMs = append(b.State.VMs, v)
	return v, nil
}

// condition is the VM's state as VirtualBox names it.
func (b *box) condition(v *machine) string {
	switch {
	case v.PID > 0 && alive(v.PID):
		return "running"
	case v.Ran:
		return "aborted"
	}
	return "poweroff"
}

func (b *box) locked(v *machine) bool {
	return b.condition(v) == "running" || time.Now().Before(v.Locked)
}

func (b *box) unlocked(v *machine, how, context string) error {
	if !b.locked(v) {
		return nil
	}
	return refusal{fmt.Sprintf("The machine '%s' is already locked %s", v.Name, how), objectState, context}
}

func (b *box) disk(v *machine) string { return filepath.Join(b.folder, "disks", v.UUID) }

func (b *box) modify(words []string) error {
	if len(words) == 0 {
		return refusal{text: "Not enough parameters"}
	}
	v, err := b.find(words[0])
	if err != nil {
		return err
	}
	if len(words) == 4 && words[1] == "--natpf1" && words[2] == "delete" {
		words = []string{words[0], "--natpf1-delete", words[3]}
	}
	_, values, err := flags(words[1:], "--cpus", "--memory", "--ioapic", "--nic1", "--hostonlyadapter1", "--bridgeadapter1", "--natpf1", "--natpf1-delete")
	if err != nil {
		return err
	}
	if err := b.unlocked(v, "for a session (or being unlocked)", "LockMachine(a->session, LockType_Write)"); err != nil {
		return err
	}
	s := &v.Settings
	number := func(flag, what, unit string, least, most int, into *int) error {
		text, there := values[flag]
		if !there {
			return nil
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return refusal{text: fmt.Sprintf("Option '%s': expected a number", flag)}
		}
		if n < least || n > most {
			return refusal{fmt.Sprintf("Invalid %s: %d%s (must be in range [%d, %d]%s)", what, n, unit, least, most, unit), invalidArg, "COMSETTER"}
		}
		*into = n
		return nil
	}
	if err := errors.Join(number("--cpus", "virtual CPU count", "", 1, 64, &s.CPUs), number("--memory", "RAM size", " MB", 4, 2097152, &s.Memory)); err != nil {
		return err
	}
	for flag, into := range map[string]*string{"--ioapic": &s.IOAPIC, "--nic1": &s.NIC, "--hostonlyadapter1": &s.Adapter, "--bridgeadapter1": &s.Adapter} {
		if value, there := values[flag]; there {
			*into = value
		}
	}
	if rule, there := values["--natpf1"]; there {
		return s.forward(rule)
	}
	if name, there := values["--natpf1-delete"]; there {
		kept := slices.DeleteFunc(slices.Clone(s.Forwards), func(rule string) bool { return strings.HasPrefix(rule, name+",") })
		if len(kept) == len(s.Forwards) {
			return refusal{text: "Code E_INVALIDARG (0x80070057) - One or more arguments are invalid (extended info not available)"}
		}
		s.Forwards = kept
	}
	return nil
}

// forward adds a rule "name,tcp,address,port,guest address,guest port".
func (s *settings) forward(rule string) error {
	const context = "AddRedirect(Bstr(strName).raw(), proto, Bstr(strHostIp).raw(), RTStrToUInt16(strHostPort), Bstr(strGuestIp).raw(), RTStrToUInt16(strGuestPort))"
	parts := strings.Split(rule, ",")
	if len(parts) != 6 {
		return refusal{text: "Invalid proto:" + rule}
	}
	for _, other := range s.Forwards {
		if has := strings.Split(other, ","); has[0] == parts[0] {
			return refusal{"A NAT rule of this name already exists", invalidArg, context}
		} else if has[2] == parts[2] && has[3] == parts[3] {
			return refusal{"A NAT rule for this host port and this host IP already exists", invalidArg, context}
		}
	}
	s.Forwards = append(slices.Clone(s.Forwards), rule)
	return nil
}

func newUUID() string {
	r := make([]byte, 16)
	rand.Read(r)
	return fmt.Sprintf("%x-%x-%x-%x-%x", r[:4], r[4:6], r[6:8], r[8:10], r[10:])
}

// alive reports whether a process is running; a zombie is not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}

// end kills a process and waits until it has exited.
func end(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	for {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 5000); err != unix.EINTR {
			return
		}
	}
}
