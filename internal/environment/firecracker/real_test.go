package firecracker

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tare/internal/environment/support/microvm"
	"tare/internal/environment/support/vmm"
	"tare/internal/testing/microvmtest"
)

func TestAGuestBoots(t *testing.T)                                      { kind.Boots(t) }
func TestLimitsOfIOHoldInAGuest(t *testing.T)                           { kind.Throttles(t) }
func TestAGuestReachesItsHost(t *testing.T)                             { kind.Reaches(t) }
func TestAStartThatFailsSaysWhetherTheGuestDiedOrIsSilent(t *testing.T) { kind.Fails(t) }

// The snapshot is broken after that.
func TestARestoredGuestIsFreshAndKnowsTheTime(t *testing.T) {
	kind.Restores(t, "Failed to load snapshot state from file: IO Error: File too short")
}

func TestASnapshotIsNotPartOfTheStartThatHasATimeout(t *testing.T) {
	kind.SavesInItsOwnTime(t, "PATCH /vm")
}

func TestAGuestHasTheOptionsThatOnlyFirecrackerHas(t *testing.T) {
	kind.Each(t, func(t *testing.T, b *microvmtest.Bench) {
		e := b.Environment(t, `{"cache": "unsafe", "aio": "async", "smt": true, "cpus": 2, "boot_timer": true}`)
		i := b.Start(t, e, b.Request("special"))
		if notes := strings.Join(i.Notes(), "\n"); b.Real && !regexp.MustCompile(`boot timer: [0-9.]+ ms`).MatchString(notes) {
			t.Errorf("notes: %s", notes)
		}
		if got := b.Run(t, i, "cat /sys/devices/system/cpu/cpu0/topology/thread_siblings_list"); b.Real && got != "0-1" {
			t.Errorf("the siblings of the first virtual CPU are %s", got)
		}
		b.Run(t, i, "dd if=/dev/zero of=/data/some bs=64k count=16 conv=fsync 2>/dev/null")
		b.Stop(t, i)
	})
}

func TestAGuestHasNoMoreVirtualCPUsThanFirecrackerGives(t *testing.T) {
	kind.Each(t, func(t *testing.T, b *microvmtest.Bench) {
		r := b.Request("crowded")
		r.Limits.CPUs, r.Limits.Cores = maxCPUs+1, nil
		b.Refused(t, `{}`, r, "PUT /machine-config was refused (400 Bad Request): ", "The number of vCPUs must be")
	})
}

func TestAJailedGuestHasAllItNeedsInItsJail(t *testing.T) {
	kind.Each(t, func(t *testing.T, b *microvmtest.Bench) {
		jailer := b.Program // a replay is that of the jailer too
		if b.Real {
			var err error
			if jailer, err = exec.LookPath(cmp.Or(os.Getenv("JAILER"), "jailer")); err != nil {
				t.Skipf("needs the program jailer, or its path in JAILER: %v", err)
			}
		}
		i := b.Start(t, b.Environment(t, `{"jailer": "`+jailer+`", "network": "tap"}`), b.Request("jailed"))
		name := filepath.Base(microvm.Path(b.Program))
		if files, _ := filepath.Glob(filepath.Join(b.Owner.Home(), "work", b.Owner.ID(), "jailed/jail/"+name+"/jailed/root/*")); len(files) < 7 {
			t.Errorf("in the jail are %v", files)
		}
		if output := b.Run(t, i, "echo here"); b.Real && output != "here" {
			t.Error(output)
		}
		b.Stop(t, i)
	})
}

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
