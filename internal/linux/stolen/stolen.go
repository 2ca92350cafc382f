// Package stolen reads how long the hypervisor kept each core of this machine from
// running, in nanoseconds. /proc/stat has the same in ticks of 10 ms.
package stolen

import (
	"bytes"
	_ "embed" // of the object
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// The object is committed and tested as those of internal/usage/evidence/probe are.
//
//go:generate ../../../scripts/bpf.sh bpf/stolen.bpf.c stolen.o
//go:embed stolen.o
var object []byte

// objects are the programs and variables of bpf/stolen.bpf.c.
type objects struct {
	Find   *ebpf.Program  `ebpf:"tare_find"`
	Read   *ebpf.Program  `ebpf:"tare_read"`
	Stolen *ebpf.Variable `ebpf:"stolen"`
	Cores  *ebpf.Variable `ebpf:"cores"`
}

// Clock is a BPF program that reads the kernel's counters. It is safe for concurrent
// use.
type Clock struct {
	objects objects
	mutex   sync.Mutex
	counts  []uint64 // nanoseconds, by core
	cores   int
}

// Open loads the program. It needs CAP_BPF and CAP_PERFMON, Linux 5.11, and the
// kernel's type information.
func Open() (c *Clock, err error) {
	c = &Clock{}
	if c.cores, err = ebpf.PossibleCPU(); err != nil {
		return nil, err
	}
	spec, err := ebpf.LoadCollectionSpecFromReader(bytes.NewReader(object))
	if err != nil {
		return nil, err
	}
	if err := spec.LoadAndAssign(&c.objects, nil); err != nil {
		return nil, fmt.Errorf("loading the program: %w", err)
	}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	c.counts = make([]uint64, c.objects.Stolen.Size()/8)
	if c.cores > len(c.counts) {
		return nil, fmt.Errorf("%d cores, and the program reads %d", c.cores, len(c.counts))
	}
	if err := c.objects.Cores.Set(uint32(c.cores)); err != nil {
		return nil, err
	}
	found := 0
	for core := range c.cores {
		// It is refused on a core that is offline.
		if _, err = c.objects.Find.Run(&ebpf.RunOptions{Flags: unix.BPF_F_TEST_RUN_ON_CPU, CPU: uint32(core)}); err == nil {
			found++
		}
	}
	if found == 0 {
		return nil, fmt.Errorf("running the program on a core: %w", err)
	}
	_, err = c.Read(nil)
	return c, err
}

// Read returns the time stolen from these cores since the machine has started, or
// from all where there are none.
func (c *Clock) Read(cores []int) (sum time.Duration, err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if _, err := c.objects.Read.Run(&ebpf.RunOptions{}); err != nil {
		return 0, fmt.Errorf("running the program: %w", err)
	}
	if err := c.objects.Stolen.Get(c.counts); err != nil {
		return 0, err
	}
	if len(cores) == 0 {
		for _, n := range c.counts {
			sum += time.Duration(n)
		}
	}
	for _, core := range cores {
		if core < len(c.counts) {
			sum += time.Duration(c.counts[core])
		}
	}
	return sum, nil
}

// Close unloads the program.
func (c *Clock) Close() error { return errors.Join(c.objects.Find.Close(), c.objects.Read.Close()) }
