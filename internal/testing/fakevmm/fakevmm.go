// Package fakevmm has what the test doubles of VMMs share: programs that implement
// a VMM's published API, with its error responses, and let QEMU emulate the guest,
// so that a kind can be tested where KVM or the VMM is missing. A fake's version
// says that it is one, and none of its measurements is that of the VMM.
//
// A fake has no vsock device. Its guest gets a virtio-serial port instead, and the
// kernel command line is changed accordingly; the host's sockets are as the VMM's.
package fakevmm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/environment/support/qmp"
	"tare/internal/environment/support/vmm"
)

// Guest is the configuration of a guest.
type Guest struct {
	Kernel, Initramfs, Line string
	CPUs                    int
	MemoryMiB               int
	Disks                   []Disk
	Nets                    []Net
	VSock                   string // the path of its socket; "" for no vsock
	PCI                     bool   // q35 in place of microvm
}

// Disk is a disk of a guest. The limits are of both directions together; 0 is none.
type Disk struct {
	Path           string
	ReadOnly       bool
	Cache          string // QEMU's cache mode
	Bandwidth, Ops int64
}

// Net is a network card with a tap.
type Net struct{ Tap, MAC string }

// Machine is a QEMU process that emulates a guest.
type Machine struct {
	Opened chan struct{} // closed when the guest's agent has opened its port

	monitor *qmp.Monitor
	agent   net.Conn
	exited  chan struct{}
	status  error
	once    sync.Once
	reset   atomic.Bool // the guest reset itself
}

const (
	program   = "qemu-system-x86_64"
	portName  = "tare"
	monitorFD = 3
	agentFD   = 4
)

// Start starts QEMU with a guest, to boot or from a file of Save, and connects the
// sockets of its vsock. The guest is paused.
func Start(ctx context.Context, g Guest, saved string) (_ *Machine, err error) {
	m := &Machine{Opened: make(chan struct{}), exited: make(chan struct{})}
	monitor, theirMonitor, err := pair()
	if err != nil {
		return nil, err
	}
	agent, theirAgent, err := pair()
	if err != nil {
		return nil, errors.Join(err, theirMonitor.Close())
	}
	m.agent = agent
	arguments := g.arguments()
	if saved != "" {
		arguments = append(arguments, "-incoming", "defer")
	}
	cmd := exec.Command(program, arguments...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.ExtraFiles = []*os.File{theirMonitor, theirAgent}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // its exit would send the parent-death signal
		err := cmd.Start()
		theirMonitor.Close() // so that the monitor ends with QEMU
		theirAgent.Close()
		started <- err
		if err == nil {
			m.status = cmd.Wait()
			close(m.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	if m.monitor, err = qmp.Open(ctx, monitor, m.handleEvent); err != nil {
		return nil, err
	}
	if saved != "" {
		if err := m.migrate(ctx, "migrate-incoming", "exec:cat "+saved); err != nil {
			return nil, err
		}
		m.once.Do(func() { close(m.Opened) }) // as it was when the guest was saved
	}
	return m, m.bridge(&g)
}

func pair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours := os.NewFile(uintptr(fds[0]), "fake")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	return conn, os.NewFile(uintptr(fds[1]), "qemu"), err
}

// arguments returns QEMU's arguments.
func (g *Guest) arguments() []string {
	machine, bus := "microvm,pit=on,pic=on,rtc=on,x-option-roms=off", "-device"
	if g.PCI {
		machine, bus = "q35", "-pci"
	}
	list := []string{"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-S",
		"-machine", machine, "-accel", "tcg,thread=multi", "-cpu", "max",
		"-smp", strconv.Itoa(g.CPUs), "-m", fmt.Sprintf("%dM", g.MemoryMiB),
		"-kernel", g.Kernel, "-append", g.line(),
		"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
		"-chardev", fmt.Sprintf("socket,id=monitor,fd=%d", monitorFD), "-mon", "chardev=monitor,mode=control",
		"-chardev", fmt.Sprintf("socket,id=agent,fd=%d", agentFD),
		"-device", "virtio-serial" + bus, "-device", "virtserialport,id=agent,chardev=agent,name=" + portName}
	if g.Initramfs != "" {
		list = append(list, "-initrd", g.Initramfs)
	}
	for n, disk := range g.Disks {
		word := fmt.Sprintf("if=none,id=disk%d,format=raw,cache=%s,werror=report,rerror=report,file=%s", n, disk.Cache, strings.ReplaceAll(disk.Path, ",", ",,"))
		if disk.ReadOnly {
			word += ",readonly=on"
		}
		if disk.Bandwidth > 0 {
			word += fmt.Sprintf(",throttling.bps-total=%d", disk.Bandwidth)
		}
		if disk.Ops > 0 {
			word += fmt.Sprintf(",throttling.iops-total=%d", disk.Ops)
		}
		list = append(list, "-drive", word, "-device", fmt.Sprintf("virtio-blk%s,drive=disk%d", bus, n))
	}
	for n, card := range g.Nets {
		list = append(list, "-netdev", fmt.Sprintf("tap,id=net%d,ifname=%s,script=no,downscript=no", n, card.Tap),
			"-device", fmt.Sprintf("virtio-net%s,netdev=net%d,mac=%s", bus, n, card.MAC))
	}
	return list
}

// port returns the vsock port that the kernel command line names.
func (g *Guest) port() string {
	for _, word := range strings.Fields(g.Line) {
		if port, ok := strings.CutPrefix(word, "tare.vsock="); ok {
			return port
		}
	}
	return ""
}

// line adapts the kernel command line to a machine without vsock, without a reset
// by the keyboard controller, and with a TSC that the kernel cannot calibrate.
func (g *Guest) line() string {
	line := strings.Replace(g.Line, "tare.vsock="+g.port(), "tare.port="+portName, 1)
	if !g.PCI {
		line += " reboot=t"
	}
	line += " cryptomgr.notests" // emulated, they take half a second
	if khz := vmm.TSCKHz(); khz > 0 {
		line += fmt.Sprintf(" tsc_early_khz=%d tsc=reliable no_timer_check", khz)
	}
	return line
}

func (m *Machine) handleEvent(e qmp.Event) {
	data := string(e.Data)
	switch e.Name {
	case "VSERPORT_CHANGE":
		if strings.Contains(data, "true") {
			m.once.Do(func() { close(m.Opened) })
		}
	case "SHUTDOWN":
		if strings.Contains(data, "guest-reset") || strings.Contains(data, "guest-panic") {
			m.reset.Store(true)
		}
	}
}

// Resume runs the guest.
func (m *Machine) Resume(ctx context.Context) error { return m.monitor.Execute(ctx, "cont", nil, nil) }

// Pause pauses it.
func (m *Machine) Pause(ctx context.Context) error { return m.monitor.Execute(ctx, "stop", nil, nil) }

// Save writes a paused guest to a file.
func (m *Machine) Save(ctx context.Context, file string) error {
	return m.migrate(ctx, "migrate", "exec:cat >"+file)
}

// migrate saves or loads a guest, and waits until that is done.
func (m *Machine) migrate(ctx context.Context, command, uri string) error {
	if err := m.monitor.Execute(ctx, command, map[string]string{"uri": uri}, nil); err != nil {
		return err
	}
	for {
		var now struct {
			Status string `json:"status"`
			Why    string `json:"error-desc"`
		}
		if err := m.monitor.Execute(ctx, "query-migrate", nil, &now); err != nil {
			return err
		}
		switch now.Status {
		case "completed":
			return nil
		case "failed", "cancelled":
			return fmt.Errorf("QEMU: %s: %s", now.Status, now.Why)
		}
		select {
		case <-m.exited:
			return errors.New("QEMU exited")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Wait waits for QEMU's exit. reset is set if the guest reset itself.
func (m *Machine) Wait() (reset bool, err error) {
	<-m.exited
	return m.reset.Load(), m.status
}
