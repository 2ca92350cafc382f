package qemu

import (
	"fmt"
	"strings"

	"tare/internal/base/quantity"
	"tare/internal/environment/support/vmm"
	"tare/internal/image/kernel"
	"tare/internal/linux/virtnet"
)

// program is QEMU's executable.
const program = "qemu-system-x86_64"

// port is the name of the virtio-serial port of the agent.
const port = "tare"

// The file descriptors that QEMU inherits. They are connected sockets, so that
// there are no socket files to wait for or to remove.
const (
	monitorFD = 3
	agentFD   = 4
	tapFD     = 5 // if there is a tap
)

// machine is the full configuration of one guest.
type machine struct {
	name   string
	accel  string // kvm or tcg
	cpus   int
	memory quantity.Bytes
	pids   int // 0 is no limit
	guest  *kernel.Guest
	env    []string // the image's environment, KEY=VALUE
	root   string   // the file or the device
	data   string
	tscKHz int
	port   *virtnet.Port // of the network between the guests; nil without one
	disks  []disk        // in addition to root and data
}

// disk is an additional disk from the request.
type disk struct{ serial, format, file string }

// arguments returns QEMU's command line. The guest is paused (-S) until its
// virtual CPUs are pinned.
func (o *Options) arguments(m machine) []string {
	list := []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-S",
		"-name", "tare-" + m.name + ",debug-threads=on",
		"-machine", o.machineType(),
		"-accel", acceleration(m.accel),
		"-cpu", o.model(m.accel),
		"-smp", fmt.Sprint(m.cpus),
		"-m", fmt.Sprintf("%dM", m.memory/quantity.MiB),
		"-kernel", o.kernel(m),
		"-initrd", m.guest.Initramfs,
		"-append", o.kernelLine(m),
		"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
		"-chardev", fmt.Sprintf("socket,id=monitor,fd=%d", monitorFD), "-mon", "chardev=monitor,mode=control",
		"-chardev", fmt.Sprintf("socket,id=agent,fd=%d", agentFD),
		"-device", o.device("virtio-serial"), "-device", "virtserialport,chardev=agent,name=" + port,
	}
	if o.Machine == "microvm" {
		// Where SeaBIOS is QEMU's choice it finds nothing to boot without option ROMs.
		list = append(list, "-bios", "qboot.rom")
	}
	if o.DiskDevice == nvmeDisk {
		list = append(list, "-device", "nvme,serial=tare")
	}
	for n, d := range o.drives() {
		list = append(list,
			// report: the guest sees an I/O error, as a program on the host would.
			// QEMU's default is to stop the guest.
			"-drive", fmt.Sprintf("if=none,id=%s,format=%s,cache=%s,aio=%s,werror=report,rerror=report,file=%s",
				d.id, d.format(), d.cache, d.aio, strings.ReplaceAll(map[string]string{"root": m.root, "data": m.data}[d.id], ",", ",,")),
			"-device", o.disk(n)+",drive="+d.id)
	}
	for n, disk := range m.disks {
		list = append(list,
			"-drive", fmt.Sprintf("if=none,id=disk%d,format=%s,cache=%s,aio=%s,werror=report,rerror=report,file=%s",
				n, disk.format, o.Cache, o.AIO, strings.ReplaceAll(disk.file, ",", ",,")),
			"-device", fmt.Sprintf("%s,drive=disk%d,serial=%s", o.device("virtio-blk"), n, disk.serial))
	}
	if o.Network == "user" {
		list = append(list, "-netdev", "user,id=net", "-device", o.device("virtio-net")+",netdev=net")
	}
	if m.port != nil {
		list = append(list, "-netdev", fmt.Sprintf("tap,id=private,fd=%d", tapFD),
			"-device", fmt.Sprintf("%s,netdev=private,mac=%s", o.device("virtio-net"), m.port.MAC))
	}
	return list
}

func (o *Options) machineType() string {
	if o.Machine == "microvm" {
		// A distribution's kernel needs the PIT and the PIC of a PC to boot. It does
		// not need option ROMs, with the firmware qboot.
		return "microvm,pit=on,pic=on,rtc=on,x-option-roms=off"
	}
	return o.Machine
}

func acceleration(accel string) string {
	if accel == "tcg" {
		return "tcg,thread=multi" // one thread per virtual CPU, so that each can be pinned
	}
	return accel
}

func (o *Options) model(accel string) string {
	switch {
	case o.Model != "":
		return o.Model
	case accel == "kvm":
		return "host"
	}
	return "max"
}

// kernel returns the kernel's file. The firmware of microvm boots only a kernel
// with a PVH entry point. An emulated processor would spend a tenth of the boot on
// decompression.
func (o *Options) kernel(m machine) string {
	if o.Machine == "microvm" || m.accel == "tcg" && m.guest.Vmlinux != "" {
		return m.guest.Vmlinux
	}
	return m.guest.Kernel
}

// device returns the name of a virtio device for the machine's bus.
func (o *Options) device(kind string) string {
	if o.Machine == "microvm" {
		return kind + "-device"
	}
	return kind + "-pci"
}

// The values of disk_device.
const (
	virtioDisk = "virtio-blk"
	nvmeDisk   = "nvme"
)

// disk returns the device of one of the two disks. With NVMe they are namespaces
// of one controller, since the guest numbers controllers in the order in which
// they are probed.
func (o *Options) disk(n int) string {
	if o.DiskDevice == nvmeDisk {
		return fmt.Sprintf("nvme-ns,nsid=%d", n+1)
	}
	return o.device("virtio-blk")
}

// diskNames returns the guest's device files of the two disks.
func (o *Options) diskNames() (root, data string) {
	if o.DiskDevice == nvmeDisk {
		return "/dev/nvme0n1", "/dev/nvme0n2"
	}
	return "/dev/vda", "/dev/vdb"
}

func (o *Options) kernelLine(m machine) string {
	root, data := o.diskNames()
	words := []string{
		"console=ttyS0", "quiet",
		"panic=-1",   // a panic resets the machine, and with -no-reboot QEMU exits
		"oops=panic", // else a kernel that lost a task with its locks stands still, and nobody knows
		"tare.root=" + root, "tare.data=" + data, "tare.port=" + port,
	}
	if o.Machine == "microvm" {
		words = append(words, "reboot=t", "tare.off=reboot") // microvm has no ACPI
	} else {
		words = append(words, "tare.off=poweroff")
	}
	if o.Network == "user" {
		words = append(words, "tare.net=10.0.2.15/24,10.0.2.2,10.0.2.3")
	}
	if m.accel == "tcg" {
		words = append(words, emulatedKernel)
	}
	if m.accel == "tcg" && m.tscKHz > 0 {
		words = append(words, fmt.Sprintf("tsc_early_khz=%d", m.tscKHz), "tsc=reliable", "no_timer_check")
	}
	return o.line(m).After(words...)
}

func (o *Options) line(m machine) vmm.KernelLine {
	return vmm.KernelLine{Port: m.port, PIDs: m.pids, Env: m.env, Extra: o.KernelArgs}
}

// emulatedKernel leaves out the self-tests of the kernel's ciphers, which take an
// emulated processor half a second.
const emulatedKernel = "cryptomgr.notests"

// check returns an error if the kernel command line cannot hold the configuration.
func (o *Options) check(m machine) error { return o.line(m).Check(o.kernelLine(m), "", 0) }
