// Package fakevmm is the part that the doubles of VMMs have in common: programs
// that speak a VMM's published API and refuse what it refuses, but let QEMU
// emulate the guest, so that the whole way of a provider can be gone where KVM
// or the VMM is missing. A double is for tests; it says what it is in its
// version, and no figure of it is one of the VMM.
//
// What it does not have: the VMM's own vsock device. The guest gets a
// virtio-serial port in its place, and the kernel's command line is changed
// accordingly; the sockets at the host are those of the VMM.
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
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/environment/support/qmp"
	"tare/internal/environment/support/vmm"
)

// Guest is what a VMM was told of its guest.
type Guest struct {
	Kernel, Initramfs, Line string
	CPUs                    int
	MemoryMiB               int
	Disks                   []Disk
	Nets                    []Net
	VSock                   string // the path of its socket; "" for no vsock
	PCI                     bool   // q35 in place of microvm
}

// Disk of a guest, with the limits of both directions together; 0 is none.
type Disk struct {
	Path           string
	ReadOnly       bool
	Cache          string // QEMU's word
	Bandwidth, Ops int64
}

// Net is a network card at a tap.
type Net struct{ Tap, MAC string }

// Machine is a QEMU that emulates a guest.
type Machine struct {
	Opened chan struct{} // closed when the guest's agent is at its port

	monitor *qmp.Monitor
	agent   net.Conn
	exited  chan struct{}
	status  error
	once    sync.Once

	mutex sync.Mutex
	reset bool // the guest asked for its end
}

const (
	program   = "qemu-system-x86_64"
	portName  = "tare"
	monitorFD = 3
	agentFD   = 4
)

// Start makes a guest that stands still: one to boot, or one that was saved to a
// file.
func Start(ctx context.Context, g Guest, saved string) (_ *Machine, err error) {
	m := &Machine{Opened: make(chan struct{}), exited: make(chan struct{})}
	monitor, theirMonitor, err := pair()
	if err != nil {
		return nil, err
	}
	defer theirMonitor.Close()
	agent, theirAgent, err := pair()
	if err != nil {
		return nil, err
	}
	defer theirAgent.Close()
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
		runtime.LockOSThread() // whose end would kill QEMU
		err := cmd.Start()
		started <- err
		if err == nil {
			m.status = cmd.Wait()
			close(m.exited)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	if m.monitor, err = qmp.Open(ctx, monitor, m.hear); err != nil {
		return nil, err
	}
	if saved != "" {
		if err := m.monitor.Execute(ctx, "migrate-incoming", map[string]string{"uri": "exec:cat " + saved}, nil); err != nil {
			return nil, err
		}
		if err := m.moved(ctx); err != nil {
			return nil, err
		}
		m.once.Do(func() { close(m.Opened) }) // it was when it was saved
	}
	return m, nil
}

func pair() (net.Conn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours := os.NewFile(uintptr(fds[0]), "double")
	defer ours.Close()
	conn, err := net.FileConn(ours)
	return conn, os.NewFile(uintptr(fds[1]), "qemu"), err
}

// arguments of QEMU.
func (g *Guest) arguments() []string {
	machine, bus := "microvm,pit=on,pic=on,rtc=on,x-option-roms=off", "-device"
	if g.PCI {
		machine, bus = "q35", "-pci"
	}
	list := []string{"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-S",
		"-machine", machine, "-accel", "tcg,thread=multi", "-cpu", "max",
		"-smp", strconv.Itoa(g.CPUs), "-m", fmt.Sprintf("%dM", g.MemoryMiB),
		"-kernel", g.Kernel, "-initrd", g.Initramfs, "-append", g.line(),
		"-chardev", "stdio,id=console,signal=off", "-serial", "chardev:console",
		"-chardev", fmt.Sprintf("socket,id=monitor,fd=%d", monitorFD), "-mon", "chardev=monitor,mode=control",
		"-chardev", fmt.Sprintf("socket,id=agent,fd=%d", agentFD),
		"-device", "virtio-serial" + bus, "-device", "virtserialport,id=agent,chardev=agent,name=" + portName}
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

// Port is the one of vsock that the kernel's command line names.
func (g *Guest) Port() string {
	for _, word := range strings.Fields(g.Line) {
		if port, ok := strings.CutPrefix(word, "tare.vsock="); ok {
			return port
		}
	}
	return ""
}

// line changes what this machine has not: vsock, a reset by the keyboard's
// controller, and a clock whose speed the kernel finds out.
func (g *Guest) line() string {
	line := strings.Replace(g.Line, "tare.vsock="+g.Port(), "tare.port="+portName, 1)
	if !g.PCI {
		line += " reboot=t"
	}
	if khz := vmm.TSCKHz(); khz > 0 {
		line += fmt.Sprintf(" tsc_early_khz=%d tsc=reliable no_timer_check", khz)
	}
	return line
}

func (m *Machine) hear(e qmp.Event) {
	switch e.Name {
	case "VSERPORT_CHANGE":
		if strings.Contains(string(e.Data), "true") {
			m.once.Do(func() { close(m.Opened) })
		}
	case "SHUTDOWN":
		m.mutex.Lock()
		m.reset = m.reset || strings.Contains(string(e.Data), "guest-reset") || strings.Contains(string(e.Data), "guest-panic")
		m.mutex.Unlock()
	}
}

// Resume lets the guest run.
func (m *Machine) Resume(ctx context.Context) error { return m.monitor.Execute(ctx, "cont", nil, nil) }

// Pause stops it.
func (m *Machine) Pause(ctx context.Context) error { return m.monitor.Execute(ctx, "stop", nil, nil) }

// Save writes a guest that stands still to a file.
func (m *Machine) Save(ctx context.Context, file string) error {
	if err := m.monitor.Execute(ctx, "migrate", map[string]string{"uri": "exec:cat >" + file}, nil); err != nil {
		return err
	}
	return m.moved(ctx)
}

// moved waits until QEMU has written or read a guest.
func (m *Machine) moved(ctx context.Context) error {
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
			return errors.New("QEMU ended")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Wait is closed at QEMU's end.
func (m *Machine) Wait() <-chan struct{} { return m.exited }

// Reset says whether the guest reset itself, and Status how QEMU ended.
func (m *Machine) Reset() bool {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return m.reset
}

// Status is how QEMU ended.
func (m *Machine) Status() error { return m.status }
