package trial

import (
	"bytes"
	"context"
	"errors"
	"os"

	"tare/internal/run/trial/instances"
	"tare/internal/usage"
	"tare/internal/usage/evidence"
	"tare/internal/usage/evidence/probe"
)

// evidenceCounter counts in the kernel what the measured instances do.
type evidenceCounter struct {
	probe *probe.Probe
	// fixed is the result where nothing is counted.
	fixed *evidence.Evidence
	// guest is the instance with a kernel of its own that is read as well; nil
	// for none.
	guest     *instances.Instance
	before    evidence.Reading
	beforeErr error
	several   bool // instances
}

// startEvidence begins to count: everything for a traced trial and in an environment that is
// counted, system calls where the study asks for them, else nothing.
func startEvidence(ctx context.Context, traced, counted, syscalls bool, measured []*instances.Instance) *evidenceCounter {
	c := &evidenceCounter{}
	if !traced && !counted && !syscalls {
		return c
	}
	traced = traced || counted
	var footprints []usage.Footprint
	for _, i := range instances.Metered(measured) {
		f := i.Footprint()
		if f.Elsewhere != nil {
			e := probe.Without("the instance is on another machine, whose kernel is not watched from here")
			c.fixed = &e
			return c
		}
		footprints = append(footprints, f)
		if c.guest == nil && traced && hasOwnKernel(ctx, i) {
			c.guest = i
		}
	}
	c.several = len(footprints) > 1
	if c.guest != nil {
		c.before, c.beforeErr = readKernel(ctx, c.guest)
	}
	depth := probe.Syscalls
	switch {
	case counted:
		depth = probe.Counts
	case traced:
		depth = probe.All
	}
	c.probe = probe.Start(ctx, depth, footprints...)
	return c
}

// stop ends the counting; nil where nothing was asked for.
func (c *evidenceCounter) stop(ctx context.Context) *evidence.Evidence {
	if c.probe == nil {
		return c.fixed
	}
	e := c.probe.Stop()
	if c.guest == nil {
		return &e
	}
	after, err := readKernel(ctx, c.guest)
	switch err = errors.Join(c.beforeErr, err); {
	case c.several:
		e.NoGuest(errors.New("there are several instances"))
	case err != nil:
		e.NoGuest(err)
	default:
		e.AddGuest(c.before, after)
	}
	return &e
}

// procLimit is how much of a file of /proc is read.
const procLimit = 1 << 20

// hasOwnKernel says whether an instance runs another kernel than this machine:
// each has a random ID from when it booted.
func hasOwnKernel(ctx context.Context, i *instances.Instance) bool {
	const boot = "/proc/sys/kernel/random/boot_id"
	here, err := os.ReadFile(boot)
	if err != nil {
		return false
	}
	there, err := i.Agent().ReadFile(ctx, boot, procLimit)
	return err != nil || !bytes.Equal(bytes.TrimSpace(here), bytes.TrimSpace(there))
}

func readKernel(ctx context.Context, i *instances.Instance) (evidence.Reading, error) {
	stat, err := i.Agent().ReadFile(ctx, "/proc/stat", procLimit)
	if err != nil {
		return evidence.Reading{}, err
	}
	// A sandbox's kernel need not have these.
	softirqs, _ := i.Agent().ReadFile(ctx, "/proc/softirqs", procLimit)
	return evidence.Read(string(stat), string(softirqs)), nil
}
