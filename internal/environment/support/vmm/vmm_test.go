package vmm

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pgregory.net/rapid"

	"tare/internal/agent"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/environment/support/console"
)

func TestATemplateWritesTheFileThatItRead(t *testing.T) {
	directory := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 1<<20).Draw(t, "size")
		want := make([]byte, size)
		for range rapid.IntRange(0, 5).Draw(t, "pieces") {
			at := rapid.IntRange(0, size-1).Draw(t, "at")
			copy(want[at:], rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "piece"))
		}
		from, to := filepath.Join(directory, "from"), filepath.Join(directory, "to")
		defer os.Remove(to)
		if err := os.WriteFile(from, want, 0o600); err != nil {
			t.Fatal(err)
		}
		read, err := ReadTemplate(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := read.Write(to); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes came back as %d others (%v)", len(want), len(got), err)
		}
	})
}

func TestATemplateDoesNotOverwrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&Template{size: 1}).Write(file); err == nil {
		t.Error("it overwrote a file")
	}
}

func TestThePhasesAddUpToTheStart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		duration := rapid.Custom(func(t *rapid.T) time.Duration { return time.Duration(rapid.Int64Range(0, 1e11).Draw(t, "ns")) })
		total := duration.Draw(t, "total")
		sum := time.Duration(0)
		for _, p := range Phases(total, agent.Hello{Uptime: duration.Draw(t, "uptime"), AgentTime: duration.Draw(t, "agent")}) {
			if p.Duration < 0 {
				t.Fatalf("phase %s takes %v", p.Name, p.Duration)
			}
			sum += p.Duration
		}
		if sum != total {
			t.Fatalf("%v of %v", sum, total)
		}
	})
}

func TestTheKernelsPhaseEndsWhereTheAgentBegins(t *testing.T) {
	got := Phases(3*time.Second, agent.Hello{Uptime: 2 * time.Second, AgentTime: 500 * time.Millisecond})
	want := []environment.Phase{{Name: "engine", Duration: time.Second}, {Name: "kernel", Duration: 1500 * time.Millisecond}, {Name: "agent", Duration: 500 * time.Millisecond}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v", got)
	}
}

func TestTheTimeStampCounterHasAProcessorsSpeed(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("needs amd64: others have no such counter")
	}
	if khz := TSCKHz(); khz < 500_000 || khz > 10_000_000 {
		t.Errorf("%d kHz", khz)
	}
}

func TestTheGuestIsAsLargeAsTheLimits(t *testing.T) {
	for _, c := range []struct {
		name      string
		cpusAsked int
		asked     quantity.Bytes
		limits    environment.Limits
		cpus      int
		memory    quantity.Bytes
	}{
		{"no limits", 0, 0, environment.Limits{}, 1, 512 * quantity.MiB},
		{"half a CPU", 0, 0, environment.Limits{CPUs: 0.5, Memory: quantity.GiB}, 1, quantity.GiB},
		{"two and a half CPUs", 0, 0, environment.Limits{CPUs: 2.5}, 3, 512 * quantity.MiB},
		{"cores before CPUs", 0, 0, environment.Limits{CPUs: 1, Cores: []int{0, 3}}, 2, 512 * quantity.MiB},
		{"options before limits", 4, 2 * quantity.GiB,
			environment.Limits{CPUs: 1, Memory: quantity.GiB, Cores: []int{0}}, 4, 2 * quantity.GiB},
	} {
		if cpus, memory := Size(c.cpusAsked, c.asked, c.limits); cpus != c.cpus || memory != c.memory {
			t.Errorf("%s: %d virtual CPUs and %s", c.name, cpus, memory)
		}
	}
}

// A VMM that a guest has taken over can put anything in its own directory.
func TestFilesOfAVMMAreReadInItsDirectory(t *testing.T) {
	directory, secret := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	log := filepath.Join(directory, "log")
	if err := os.WriteFile(secret, []byte("the host's\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, put := range map[string]func() error{
		"a link": func() error { return os.Symlink(secret, log) },
		"a FIFO": func() error { return unix.Mkfifo(log, 0o600) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if lines := console.OfFile(log); len(lines) > 0 {
			t.Errorf("%s: the last lines of the log are %q", what, lines)
		}
		if _, err := ReadTemplate(log); err == nil {
			t.Errorf("%s: it is read as a disk", what)
		}
		if err := os.Remove(log); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(log, []byte("a line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if lines := console.OfFile(log); len(lines) != 1 {
		t.Errorf("the last lines of the log are %q", lines)
	}
}
