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

	"tare/internal/environment/support/vmm"
	"tare/internal/testing/microvmtest"
	"tare/internal/testing/testenv"
)

var kind = microvmtest.Kind{Key: "firecracker", Source: "firecracker", Program: "firecracker", Variable: "FIRECRACKER", Name: "Firecracker", Started: "InstanceStart"}

func TestAGuestBoots(t *testing.T)                                      { kind.Boots(t) }
func TestARestoredGuestIsFreshAndKnowsTheTime(t *testing.T)             { kind.Restores(t) }
func TestLimitsOfIOHoldInAGuest(t *testing.T)                           { kind.Throttles(t) }
func TestAGuestReachesItsHost(t *testing.T)                             { kind.Reaches(t) }
func TestAStartThatFailsSaysWhetherTheGuestDiedOrIsSilent(t *testing.T) { kind.Fails(t) }

func TestTheBootTimerIsReadFromTheLog(t *testing.T) {
	kind.Each(t, func(t *testing.T, b *microvmtest.Bench) {
		i := b.Start(t, b.Environment(t, `{"boot_timer": true}`), "timed")
		if notes := strings.Join(i.Notes(), "\n"); !regexp.MustCompile(`boot timer: [0-9.]+ ms`).MatchString(notes) {
			t.Errorf("notes: %s", notes)
		}
		microvmtest.Stop(t, i)
	})
}

func TestARefusalIsQuoted(t *testing.T) {
	kind.Each(t, func(t *testing.T, b *microvmtest.Bench) {
		r := b.Request("refused")
		r.Limits.CPUs, r.Limits.Cores = maxCPUs+1, nil
		i, err := b.Environment(t, `{}`).Start(t.Context(), r)
		if err == nil {
			microvmtest.Stop(t, i)
			t.Fatal("it started")
		}
		if !strings.Contains(err.Error(), "PUT /machine-config was refused (400 Bad Request): ") || !strings.Contains(err.Error(), "The number of vCPUs must be") {
			t.Error(err)
		}
	})
}

func TestAJailedGuestHasAllItNeedsInItsJail(t *testing.T) {
	kind.Each(t, func(t *testing.T, b *microvmtest.Bench) {
		if !b.Fake {
			t.Skip("needs the jailer's double, which runs only Firecracker's")
		}
		jailer, err := microvmtest.BuildFake(t.TempDir(), "jailer", "jailer")
		if err != nil {
			t.Fatal(err)
		}
		i := b.Start(t, b.Environment(t, `{"jailer": "`+jailer+`"}`), "jailed")
		if files, _ := filepath.Glob(filepath.Join(b.Owner.Home(), "work", b.Owner.ID(), "jailed/jail/firecracker/jailed/root/*")); len(files) < 7 {
			t.Errorf("in the jail are %v", files)
		}
		if output := testenv.Run(t, i, "echo here"); output != "here" {
			t.Error(output)
		}
		microvmtest.Stop(t, i)
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

func TestTheRealFirecrackerStartsWhatTareDefines(t *testing.T) {
	options := map[string]string{
		"boot":     `{"kernel_args": "earlyprintk=ttyS0 ignore_loglevel", "start_timeout": 120000000000}`,
		"limits":   `{"cache": "unsafe", "aio": "async", "root": "copy", "boot_timer": true, "disk_bandwidth": "100MiB", "disk_ops": 5000, "network": "nat", "net_bandwidth": "10MiB", "net_ops": 5000, "start_timeout": 30000000000}`,
		"snapshot": `{"start": "snapshot", "start_timeout": 30000000000}`,
	}
	if jailer, err := exec.LookPath(cmp.Or(os.Getenv("JAILER"), "jailer")); err == nil {
		options["jailer"] = `{"jailer": "` + jailer + `", "start_timeout": 30000000000}`
	} else {
		t.Logf("without a jail: JAILER names no jailer: %v", err)
	}
	kind.Comes(t, options)
}
