package microvm

import (
	"context"
	"fmt"

	"tare/internal/environment"
	"tare/internal/linux/cgroup"
	"tare/internal/quantity"
)

// Bucket is a token bucket as these APIs write it: size tokens, refilled in
// refill_time milliseconds.
type Bucket struct {
	Size   int64 `json:"size"`
	Refill int64 `json:"refill_time"`
}

// Limiter bounds bytes and operations, in both directions together.
type Limiter struct {
	Bandwidth *Bucket `json:"bandwidth,omitempty"`
	Ops       *Bucket `json:"ops,omitempty"`
}

const second = 1000 // in a bucket's milliseconds

// limiter is nil where nothing is bounded.
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

// NetLimiter is that of each direction of the network card; nil for none.
func (o *Options) NetLimiter() *Limiter { return limiter(int64(o.NetBandwidth), int64(o.NetOps)) }

// diskLimiter is that of each disk; nil for none. The limits are bearable.
func (o *Options) diskLimiter(limits environment.IO) *Limiter {
	if limits.None() {
		return limiter(int64(o.DiskBandwidth), int64(o.DiskOps))
	}
	return limiter(int64(limits.Read), int64(limits.ReadOps))
}

// togetherNote says in which way the limits of io are others than elsewhere.
const togetherNote = "limits: io: reads and writes of a disk share one rate, and each of the two disks has it for itself"

// bearable says whether limits of io can hold: a limiter does not tell reads
// from writes.
func (e *Environment) bearable(limits environment.IO) error {
	o := &e.options
	switch {
	case limits.None():
		return nil
	case limits.Read != limits.Write:
		return e.apart("read", "write", limits.Read.String(), limits.Write.String())
	case limits.ReadOps != limits.WriteOps:
		return e.apart("read_ops", "write_ops", fmt.Sprint(limits.ReadOps), fmt.Sprint(limits.WriteOps))
	case o.DiskBandwidth > 0 || o.DiskOps > 0:
		return fmt.Errorf("limits: io: the options disk_bandwidth and disk_ops of this environment bound the same: leave them out, or write limits: {io: {}} for this environment")
	}
	return nil
}

func (e *Environment) apart(one, other, reads, writes string) error {
	return fmt.Errorf("limits: io: %s bounds what a disk reads and writes together, so %s: %s and %s: %s cannot both hold: write the same for both",
		e.vmm.Name(), one, reads, other, writes)
}

// Sights are the disks' limiters, asked for again.
func (d *driver) Sights(ctx context.Context, l environment.Limits) (sights []environment.Sight, err error) {
	if l.IO.None() {
		return nil, nil
	}
	disks, err := d.vmm.Limiters(ctx, d.api)
	if err != nil {
		return nil, fmt.Errorf("asking for the limits of the guest's disks: %w", err)
	}
	return seen(d.vmm.Name(), l.IO, disks), nil
}

// seen holds what each disk has to what was asked.
func seen(name string, asked environment.IO, disks []*Limiter) (sights []environment.Sight) {
	throttle := cgroup.Throttle{Read: asked.Read, Write: asked.Write, ReadOps: asked.ReadOps, WriteOps: asked.WriteOps}
	for _, wish := range (cgroup.Limits{IO: throttle}).Wishes() {
		wish.Where, wish.Seen, wish.Holds = name+"'s configuration", wish.Asked, len(disks) > 0
		if len(disks) == 0 {
			wish.Seen = "no disk"
		}
		for n, disk := range disks {
			if has := disk.throttle(); !has.Has(wish) {
				wish.Seen, wish.Holds = fmt.Sprintf("%+v on disk %d", has, n+1), false
			}
		}
		sights = append(sights, wish)
	}
	return sights
}

// throttle is what a limiter comes to in a second, in each direction alone.
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
