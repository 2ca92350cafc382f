package virtualbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"tare/internal/environment"
	"tare/internal/linux/cgroup"
)

// place is where a VM's process runs: VirtualBox starts it by a daemon of its
// own, so it has to be found and brought here.
type place struct {
	group   *cgroup.Group
	path    string
	limits  cgroup.Limits
	release func()
	pid     int
}

// reserve makes the group that a VM's process will be moved into. The guest's
// memory is limited by its size; VirtualBox's own comes on top and is counted.
func reserve(r environment.Request) (*place, []string, error) {
	p := &place{path: r.Owner.Cgroup(r.Name), limits: cgroup.Limits{CPUs: r.Limits.CPUs, Cores: r.Limits.Cores}}
	var err error
	if p.group, err = cgroup.Create(p.path, p.limits); err != nil {
		return nil, nil, err
	}
	return p, p.group.Cautions(p.limits), nil
}

// bring moves the process of the VM with this UUID into the group, and pins the
// threads of its virtual CPUs to the cores one by one.
func (p *place) bring(r environment.Request, uuid string) (notes []string, err error) {
	if p.pid, err = processOf("/proc", uuid); err != nil {
		return nil, err
	}
	if p.release, err = r.Owner.Adopt(p.pid, "vmm"); err != nil {
		return nil, err
	}
	if err := p.group.Add(p.pid); err != nil {
		return nil, fmt.Errorf("moving VirtualBox's process %d into its group: %w", p.pid, err)
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
		notes = append(notes, "the threads of the virtual CPUs (EMT) could not be told from the others: they share the cores")
	case len(cores) < len(threads):
		notes = append(notes, fmt.Sprintf("%d virtual CPUs share %d cores", len(threads), len(cores)))
	}
	return notes, nil
}

// clear ends what is left of the process, and removes the group.
func (p *place) clear(ctx context.Context) error {
	err := errors.Join(p.group.Kill(ctx), p.group.Remove())
	if p.release != nil {
		p.release()
	}
	return err
}

// processOf finds the process that VirtualBox runs a VM in:
// "VBoxHeadless --comment NAME --startvm UUID --vrde config".
func processOf(proc, uuid string) (int, error) {
	files, _ := filepath.Glob(filepath.Join(proc, "[0-9]*", "cmdline"))
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		words := strings.Split(string(bytes.TrimRight(line, "\x00")), "\x00")
		at := slices.Index(words, "--startvm")
		if at < 0 || at+1 == len(words) || words[at+1] != uuid || !strings.HasPrefix(filepath.Base(words[0]), "VBox") {
			continue
		}
		return strconv.Atoi(filepath.Base(filepath.Dir(file)))
	}
	return 0, fmt.Errorf("no process of this machine has --startvm %s on its command line: VirtualBox says that the VM runs, but where is its VBoxHeadless?", uuid)
}

var emulation = regexp.MustCompile(`^EMT(-(\d+))?$`)

// virtualCPUs are the threads that run the guest's code, by the CPU's number.
func virtualCPUs(proc string, pid int) (threads []int) {
	files, _ := filepath.Glob(filepath.Join(proc, strconv.Itoa(pid), "task", "*", "comm"))
	byNumber := map[int]int{}
	for _, file := range files {
		name, err := os.ReadFile(file)
		match := emulation.FindStringSubmatch(strings.TrimSpace(string(name)))
		if err != nil || match == nil {
			continue
		}
		number, _ := strconv.Atoi(match[2])
		byNumber[number], _ = strconv.Atoi(filepath.Base(filepath.Dir(file)))
	}
	for number := range len(byNumber) {
		if thread, there := byNumber[number]; there {
			threads = append(threads, thread)
		}
	}
	return threads
}
