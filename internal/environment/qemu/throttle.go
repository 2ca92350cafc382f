package qemu

import (
	"context"
	"fmt"

	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/environment/support/vmm"
	"tare/internal/linux/cgroup"
)

// throttled is a disk's limits in QEMU's query-block.
type throttled struct {
	Device   string `json:"device"`
	Inserted *struct {
		Read     int64 `json:"bps_rd"`
		Write    int64 `json:"bps_wr"`
		ReadOps  int64 `json:"iops_rd"`
		WriteOps int64 `json:"iops_wr"`
	} `json:"inserted"`
}

// disks lists the guest's disks.
func (d *driver) disks(ctx context.Context) (list []throttled, err error) {
	var all []throttled
	if err := d.monitor.Execute(ctx, "query-block", nil, &all); err != nil {
		return nil, fmt.Errorf("listing the guest's disks: %w", err)
	}
	for _, t := range all {
		if t.Inserted != nil && t.Device != "" {
			list = append(list, t)
		}
	}
	return list, nil
}

// throttle limits the guest's disks as one throttle group, since the limit is
// for the instance, not for each disk. Unlike a cgroup's io.max, QEMU's
// throttling also covers writes to the host's page cache.
func (d *driver) throttle(ctx context.Context) error {
	if d.io.None() {
		return nil
	}
	disks, err := d.disks(ctx)
	if err != nil {
		return err
	}
	for _, disk := range disks {
		err := d.monitor.Execute(ctx, "block_set_io_throttle", map[string]any{
			"device": disk.Device, "group": "tare",
			"bps": 0, "bps_rd": int64(d.io.Read), "bps_wr": int64(d.io.Write),
			"iops": 0, "iops_rd": d.io.ReadOps, "iops_wr": d.io.WriteOps,
		}, nil)
		if err != nil {
			return fmt.Errorf("limiting the guest's disk %s: %w", disk.Device, err)
		}
	}
	return nil
}

// EffectiveLimits reads QEMU's throttling back.
func (d *driver) EffectiveLimits(ctx context.Context, l environment.Limits) (limits []environment.EffectiveLimit, err error) {
	if l.IO.None() {
		return nil, nil
	}
	disks, err := d.disks(ctx)
	if err != nil {
		return nil, err
	}
	throttles := map[string]cgroup.Throttle{}
	for _, disk := range disks {
		has := disk.Inserted
		throttles[disk.Device] = cgroup.Throttle{Read: quantity.Bytes(has.Read), Write: quantity.Bytes(has.Write), ReadOps: int(has.ReadOps), WriteOps: int(has.WriteOps)}
	}
	return vmm.EffectiveIO("QEMU's query-block", l.IO, throttles), nil
}
