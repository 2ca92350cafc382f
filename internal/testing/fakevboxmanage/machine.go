package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// settings are the part of a VM that a snapshot contains.
type settings struct {
	Values   map[string]string // by the option of modifyvm
	Forwards []string
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

// box is the state of the fake, locked against other processes. Each command is a process
// of its own, and what two VMs share of it is apart in the file.
type box struct {
	folder string
	lock   *os.File
	State  []*machine
}

func open(folder string) *box {
	lock, err := os.OpenFile(filepath.Join(folder, "lock"), os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err == nil {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		panic(err)
	}
	b := read(folder)
	b.lock = lock
	return b
}

func read(folder string) *box {
	b := &box{folder: folder}
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
		at := filepath.Join(b.folder, "state")
		text, err := json.MarshalIndent(b.State, "", "\t")
		if err == nil {
			err = os.WriteFile(at+".new", text, 0o600)
		}
		if err == nil {
			err = os.Rename(at+".new", at+".json")
		}
		if err != nil {
			panic(err)
		}
	}
	b.lock.Close()
}

func (b *box) find(name string) (*machine, error) {
	for _, v := range b.State {
		if v.Name == name || v.UUID == name {
			return v, nil
		}
	}
	return nil, refusal{fmt.Sprintf("Could not find a registered machine named '%s'", name), objectNotFound}
}

func (v *machine) find(name string) (*snapshot, error) {
	for n := range v.Snapshots {
		if v.Snapshots[n].Name == name || v.Snapshots[n].UUID == name {
			return &v.Snapshots[n], nil
		}
	}
	return nil, refusal{fmt.Sprintf("Could not find a snapshot named '%s'", name), objectNotFound}
}

func (b *box) add(name string, s settings) {
	b.State = append(b.State, &machine{Name: name, UUID: rand.Text(), Settings: s, Extra: map[string]string{}})
}

func (b *box) disk(v *machine) string { return filepath.Join(b.folder, "disks", v.UUID) }

// condition is the VM's state as VirtualBox names it.
func (v *machine) condition() string {
	switch {
	case v.PID > 0 && alive(v.PID):
		return "running"
	case v.Ran:
		return "aborted"
	}
	return "poweroff"
}

// unlocked is the refusal where a VM runs, or ran a moment ago.
func (v *machine) unlocked() error {
	if v.condition() != "running" && time.Now().After(v.Locked) {
		return nil
	}
	return refusal{fmt.Sprintf("The machine '%s' is already locked for a session (or being unlocked)", v.Name), objectState}
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
