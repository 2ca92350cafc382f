package firecracker

import (
	"fmt"
	"os"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/environment/support/vmm"
)

func TestAVirtualCPUsThreadIsFoundByItsName(t *testing.T) {
	thread := (&firecracker{*defaults()}).vmm().VCPUThread
	if _, err := vmm.Threads(t.Context(), os.Getpid(), thread, 1); err == nil {
		t.Error("this process has a virtual CPU")
	}
	named, over := make(chan int), make(chan bool)
	defer close(over)
	for n := range 2 {
		go func() {
			runtime.LockOSThread() // and never unlocked: the thread ends, with its name
			if err := unix.Prctl(unix.PR_SET_NAME, uintptr(unsafe.Pointer(unsafe.StringData(fmt.Sprintf("fc_vcpu %d\x00", n)))), 0, 0, 0); err != nil {
				t.Error(err)
			}
			named <- unix.Gettid()
			<-over
		}()
	}
	want := map[int]bool{<-named: true, <-named: true}
	got, err := vmm.Threads(t.Context(), os.Getpid(), thread, 2)
	if err != nil || len(got) != 2 || !want[got[0]] || !want[got[1]] || got[0] == got[1] {
		t.Errorf("%v of %v, %v", got, want, err)
	}
}
