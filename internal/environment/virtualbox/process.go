package virtualbox

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/procfile"
)

// vmGroup is the cgroup of a VM's process. VirtualBox's daemon starts the process, so
// tare has to find it and move it into the cgroup.
type vmGroup struct {
	group   *cgroup.Group
	path    string
	limits  cgroup.Limits
	release func()
	pid     int
}

// reserve creates the cgroup that a VM's process will be moved into. It has no memory
// limit: the guest's memory is limited by the VM's size, and VirtualBox's own memory
// is counted in addition.
func reserve(r environment.Request) (*vmGroup, []string, error) {
	p := &vmGroup{path: r.Owner.Cgroup(r.Name), limits: cgroup.Limits{CPUs: r.Limits.CPUs, Cores: r.Limits.Cores}}
	var err error
	if p.group, err = cgroup.Create(p.path, p.limits); err != nil {
		return nil, nil, err
	}
	return p, p.group.Cautions(p.limits), nil
}

// adopt moves the process of the VM with this UUID into the cgroup, and pins each
// thread of a virtual CPU to a core.
func (p *vmGroup) adopt(r environment.Request, uuid string) (notes []string, err error) {
	if p.pid, err = processOf(uuid); err != nil {
		return nil, err
	}
	if p.release, err = r.Owner.Adopt(p.pid, "vmm"); err != nil {
		return nil, err
	}
	if err := p.group.Add(p.pid); err != nil {
		return nil, fmt.Errorf("moving VirtualBox's process %d into its cgroup: %w", p.pid, err)
	}
	cores := r.Limits.Cores
	if len(cores) == 0 {
		return nil, nil
	}
	threads := virtualCPUs("/proc", p.pid)
	for n, thread := range threads {
		var set unix.CPUSet
		set.Set(cores[n%len(cores)])
		if err := unix.SchedSetaffinity(thread, &set); err != nil {
			notes = append(notes, fmt.Sprintf("virtual CPU %d could not be pinned to core %d: %v", n, cores[n%len(cores)], err))
		}
	}
	switch {
	case len(threads) == 0:
		notes = append(notes, "no threads of virtual CPUs (EMT) were found: all threads share the cores")
	case len(cores) < len(threads):
		notes = append(notes, fmt.Sprintf("%d virtual CPUs share %d cores", len(threads), len(cores)))
	}
	return notes, nil
}

// clear kills what is left of the process, and removes the cgroup.
func (p *vmGroup) clear(ctx context.Context) error {
	err := errors.Join(p.group.Kill(ctx), p.group.Remove())
	if p.release != nil {
		p.release()
	}
	return err
}

// processOf returns the PID of a VM's process, whose command line is
// "VBoxHeadless --comment NAME --startvm UUID --vrde config".
func processOf(uuid string) (int, error) {
	for _, pid := range procfile.PIDs() {
		words := procfile.CommandLine(pid)
		at := slices.Index(words, "--startvm")
		if at >= 0 && at+1 < len(words) && words[at+1] == uuid && strings.HasPrefix(filepath.Base(words[0]), "VBox") {
			return pid, nil
		}
	}
	return 0, fmt.Errorf("no process of this machine has --startvm %s on its command line, although VirtualBox reports that the VM is running", uuid)
}

var emulation = regexp.MustCompile(`^EMT-?(\d*)$`)

// virtualCPUs returns the emulation threads (EMT), which run the guest's code, in the
// order of the virtual CPUs.
func virtualCPUs(proc string, pid int) (threads []int) {
	byNumber := vmm.NamedThreads(filepath.Join(proc, strconv.Itoa(pid), "task"), emulation)
	for _, number := range slices.Sorted(maps.Keys(byNumber)) {
		threads = append(threads, byNumber[number])
	}
	return threads
}
