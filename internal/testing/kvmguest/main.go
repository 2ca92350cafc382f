// Command kvmguest is the first process of a guest. It loads the modules of the
// initramfs, asks the probe of KVM, prints the answer as a line of JSON on the console,
// and turns the guest off.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/linux/kvm"
)

// mark begins the line with the answer, since the kernel prints on the console too.
const mark = "kvmguest: "

// answer is what a guest says.
type answer struct {
	Kernel  string        `json:"kernel"`
	Problem string        `json:"problem,omitempty"` // the modules that could not be loaded, and why
	Probe   kvm.Result    `json:"probe"`
	Took    time.Duration `json:"took"` // the probe
}

// timeout of each step of the probe, as that of tare.
const timeout = 2 * time.Second

func main() {
	kvm.ProbeMain()
	if os.Getpid() != 1 {
		fmt.Fprintln(os.Stderr, "kvmguest is the first process of a guest, which a test of this package boots")
		os.Exit(2)
	}
	var a answer
	if err := errors.Join(mount("proc", "/proc"), mount("devtmpfs", "/dev"), load("/modules")); err != nil {
		a.Problem = err.Error()
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		a.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	began := time.Now()
	a.Probe = kvm.Probe(context.Background(), timeout)
	a.Took = time.Since(began)
	text, _ := json.Marshal(a)
	fmt.Printf("\n%s%s\n", mark, text)
	_ = unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {} // a kernel panics where its first process exits
}

func mount(kind, at string) error {
	if err := unix.Mount(kind, at, kind, 0, ""); err != nil && !errors.Is(err, unix.EBUSY) {
		return fmt.Errorf("mounting %s: %w", at, err)
	}
	return nil
}

// load loads the modules that the file order lists.
func load(directory string) error {
	order, err := os.ReadFile(directory + "/order")
	failed := []error{err}
	for _, file := range strings.Fields(string(order)) {
		content, err := os.ReadFile(directory + "/" + file)
		if err == nil {
			err = unix.InitModule(content, "")
		}
		if err != nil && !errors.Is(err, unix.EEXIST) {
			failed = append(failed, fmt.Errorf("loading %s: %w", file, err))
		}
	}
	return errors.Join(failed...)
}
