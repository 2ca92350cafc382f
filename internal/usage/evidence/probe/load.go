package probe

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"tare/internal/base/crash"
	"tare/internal/base/lists"
)

// objects are the maps and programs of bpf/count.bpf.c that are loaded.
type objects struct {
	countMaps
	syscallPrograms
	timingPrograms
}

// syscallPrograms keep the map of tasks and count system calls.
type syscallPrograms struct {
	Fork  *ebpf.Program `ebpf:"tare_fork"`
	Exec  *ebpf.Program `ebpf:"tare_exec"`
	Exit  *ebpf.Program `ebpf:"tare_exit"`
	Enter *ebpf.Program `ebpf:"tare_enter"`
}

// timingPrograms are loaded for depth All only.
type timingPrograms struct {
	Leave  *ebpf.Program `ebpf:"tare_leave"`
	Switch *ebpf.Program `ebpf:"tare_switch"`
	Raised *ebpf.Program `ebpf:"tare_raised"`
	Served *ebpf.Program `ebpf:"tare_served"`
}

// loaded calls load, and again without the limit of locked memory if it is not
// permitted: before Linux 5.11 maps and programs count against that limit. It is set
// again, as commands inherit it. Package rlimit of cilium/ebpf is no help: to find
// out whether they count, it creates a map whenever a program starts that imports
// it, with or without a trace.
func loaded(load func() error) error {
	err := load()
	if !errors.Is(err, unix.EPERM) {
		return err
	}
	var before unix.Rlimit
	none := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if unix.Prlimit(0, unix.RLIMIT_MEMLOCK, &none, &before) != nil {
		return err
	}
	return errors.Join(load(), unix.Prlimit(0, unix.RLIMIT_MEMLOCK, &before, nil))
}

// load loads and attaches the programs that the depth needs. They count nothing
// until the map of tasks is filled, so the order does not matter.
func (t *tracer) load() error {
	types, err := btf.LoadKernelSpec()
	if err != nil {
		return fmt.Errorf("reading the kernel's type information (/sys/kernel/btf/vmlinux): %w", err)
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(countObject))
	if err != nil {
		return err
	}
	if err := errors.Join(
		spec.Variables["timed"].Set(t.depth == All),
		spec.Variables["transfers"].Set(transfers()),
		spec.Variables["switch_has_state"].Set(tracepointArgs(types, "sched_switch") >= 4),
	); err != nil {
		return fmt.Errorf("setting the constants of the programs: %w", err)
	}
	o := &t.objects
	var wanted any = o
	if t.depth != All {
		wanted = &struct {
			*countMaps
			*syscallPrograms
		}{&o.countMaps, &o.syscallPrograms}
	}
	if err := loaded(func() error {
		return spec.LoadAndAssign(wanted, &ebpf.CollectionOptions{Programs: ebpf.ProgramOptions{KernelTypes: types}})
	}); err != nil {
		return fmt.Errorf("loading the programs: %w", err)
	}
	t.closers = append(t.closers, o.Tasks, o.Counters, o.Cpus, o.Lost)
	for _, p := range []*ebpf.Program{o.Fork, o.Exec, o.Exit, o.Enter, o.Leave, o.Switch, o.Raised, o.Served} {
		if p == nil {
			continue
		}
		t.closers = append(t.closers, p)
		l, err := link.AttachTracing(link.TracingOptions{Program: p, AttachType: ebpf.AttachTraceRawTp})
		if err != nil {
			return fmt.Errorf("attaching %s: %w", p, err)
		}
		t.closers = append(t.closers, l)
	}
	return nil
}

func (t *tracer) close() {
	closeAll(t.closers)
	t.closers = nil
	if t.sampler != nil {
		t.sampler.close()
	}
}

// closeAll closes the links in parallel, since the kernel waits for each until
// no processor runs its program; then the rest in reverse order.
func closeAll(list []io.Closer) {
	isLink := func(c io.Closer) bool { _, is := c.(link.Link); return is }
	links := lists.Filter(list, isLink)
	crash.Each(len(links), len(links), func(n int) { links[n].Close() })
	for _, c := range slices.Backward(list) {
		if !isLink(c) {
			c.Close()
		}
	}
}
