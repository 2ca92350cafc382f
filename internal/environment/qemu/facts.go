package qemu

import "cmp"

// facts returns the facts of a guest that are only in QEMU's command line.
func (e *vm) facts() map[string]string {
	o := e.options
	model := "max"
	if e.accel() == "kvm" {
		model = "host"
	}
	root, data := o.drives()[0], o.drives()[1]
	both := func(of func(drive) string) string {
		if of(root) == of(data) {
			return of(data)
		}
		return "data " + of(data) + "; root " + of(root)
	}
	return map[string]string{
		"log.channel": "virtio-serial", "log.driver": "none",
		"provider[machine]": o.Machine, "provider[accelerator]": e.accel(), "provider[cpu]": cmp.Or(o.Model, model),
		"disk.device": o.DiskDevice, "disk.cache": both(func(d drive) string { return d.cache }),
		"disk.aio": both(func(d drive) string { return d.aio }), "disk.format": both(func(d drive) string { return d.form }),
	}
}
