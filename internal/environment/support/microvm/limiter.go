package microvm

import (
	"context"
	"fmt"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
	"tare/internal/linux/cgroup"
)

// Bucket is a token bucket of these APIs: size tokens, refilled in refill_time
// milliseconds.
type Bucket struct {
	Size   int64 `json:"size"`
	Refill int64 `json:"refill_time"`
}

// Limiter is a rate limiter of bytes and operations, of both directions together.
type Limiter struct {
	Bandwidth *Bucket `json:"bandwidth,omitempty"`
	Ops       *Bucket `json:"ops,omitempty"`
}

const second = 1000 // milliseconds

// limiter returns a rate limiter, nil if nothing is limited.
func limiter(bytes, ops int64) *Limiter {
	var l Limiter
	if bytes > 0 {
		l.Bandwidth = &Bucket{Size: bytes, Refill: second}
	}
	if ops > 0 {
		l.Ops = &Bucket{Size: ops, Refill: second}
	}
	if l == (Limiter{}) {
		return nil
	}
	return &l
}

// NetLimiter returns the limiter of each direction of the network card, nil if
// there is none.
func (o *Options) NetLimiter() *Limiter { return limiter(int64(o.NetBandwidth), int64(o.NetOps)) }

// diskLimiter returns the limiter of each disk, nil if there is none. checkIO has
// accepted the limits.
func (o *Options) diskLimiter(limits environment.IO) *Limiter {
	if limits.None() {
		return limiter(int64(o.DiskBandwidth), int64(o.DiskOps))
	}
	return limiter(int64(limits.Read), int64(limits.ReadOps))
}

// sharedRateNote is how these limits of io differ from other environments'.
const sharedRateNote = "limits: io: reads and writes of a disk share one rate, and each of the two disks has its own"

// checkIO checks whether limits of io can be enforced: a limiter does not
// distinguish reads from writes.
func (e *Environment) checkIO(limits environment.IO) error {
	o := &e.options
	switch {
	case limits.None():
		return nil
	case limits.Read != limits.Write:
		return e.unevenError("read", "write", limits.Read.String(), limits.Write.String())
	case limits.ReadOps != limits.WriteOps:
		return e.unevenError("read_ops", "write_ops", fmt.Sprint(limits.ReadOps), fmt.Sprint(limits.WriteOps))
	case o.DiskBandwidth > 0 || o.DiskOps > 0:
		return fmt.Errorf("limits: io: this environment's options disk_bandwidth and disk_ops set the same limit: remove them, or set limits: {io: {}} for this environment")
	}
	return nil
}

func (e *Environment) unevenError(one, other, reads, writes string) error {
	return fmt.Errorf("limits: io: %s limits reads and writes of a disk together, so %s: %s and %s: %s cannot both be enforced: set both to the same value",
		e.vmm.Name, one, reads, other, writes)
}

// EffectiveLimits reads the disks' limiters back.
func (d *driver) EffectiveLimits(ctx context.Context, l environment.Limits) (limits []environment.EffectiveLimit, err error) {
	if l.IO.None() {
		return nil, nil
	}
	disks, err := d.vmm.Limiters(ctx, d.api)
	if err != nil {
		return nil, fmt.Errorf("reading the limits of the guest's disks: %w", err)
	}
	return effectiveLimits(d.vmm.Name, l.IO, disks), nil
}

// effectiveLimits compares each disk's limiter with the requested limits.
func effectiveLimits(name string, asked environment.IO, disks []*Limiter) (limits []environment.EffectiveLimit) {
	throttles := map[string]cgroup.Throttle{}
	for n, disk := range disks {
		throttles[fmt.Sprint(n+1)] = disk.throttle()
	}
	return vmm.EffectiveIO(name+"'s configuration", asked, throttles)
}

// throttle converts a limiter to rates per second, of each direction alone.
func (l *Limiter) throttle() (t cgroup.Throttle) {
	rate := func(b *Bucket) int64 {
		if b == nil || b.Refill <= 0 {
			return 0
		}
		return b.Size * second / b.Refill
	}
	if l == nil {
		return t
	}
	t.Read, t.ReadOps = quantity.Bytes(rate(l.Bandwidth)), int(rate(l.Ops))
	t.Write, t.WriteOps = t.Read, t.ReadOps
	return t
}
