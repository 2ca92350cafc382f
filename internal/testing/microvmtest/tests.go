package microvmtest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/base/quantity"
	"tare/internal/environment"
	"tare/internal/environment/support/microvm"
	"tare/internal/testing/needs"
	"tare/internal/testing/testenv"
)

// Boots tests guests with a shared root disk, and with a copy.
func (k Kind) Boots(t *testing.T) {
	k.Each(t, func(t *testing.T, b *Bench) {
		for _, root := range []string{"overlay", "copy"} {
			e := b.Environment(t, `{"root": "`+root+`", "disk_bandwidth": "100MiB", "disk_ops": 5000}`)
			i := b.Start(t, e, b.Request(root))
			b.isWhole(t, i)
			if output := b.Run(t, i, "stat -f -c %T /; ls /sys/class/net; ls -A /data | wc -l"); b.Real &&
				(!strings.HasSuffix(output, "\nlo\n0") || strings.HasPrefix(output, "overlay") != (root == "overlay")) {
				t.Errorf("root: %s: %q", root, output)
			}
			b.Run(t, i, "echo x >/etc/new && echo x >/data/new && rm /etc/passwd")
			if e.Versions(t.Context())[k.Key] == "" || e.Label() != "" {
				t.Errorf("versions %v, label %q", e.Versions(t.Context()), e.Label())
			}
			b.Stop(t, i)
		}
	})
}

// isWhole checks a guest that came to its agent.
func (b *Bench) isWhole(t *testing.T, i environment.Instance) {
	t.Helper()
	if environment.StartTime(i.Phases()) <= 0 {
		t.Errorf("phases %v", i.Phases())
	}
	f := i.Details().Freezer
	if err := errors.Join(f.Freeze(b.Context), f.Thaw(b.Context)); err != nil {
		t.Error(err)
	}
	if output := b.Run(t, i, "echo here"); b.Real && output != "here" {
		t.Errorf("after a freeze and a thaw: %q", output)
	}
	if notes := strings.Join(i.Notes(), "\n"); b.Real && strings.Contains(notes, "not pinned") {
		t.Error(notes)
	}
}

// Throttles tests guests with limits of io, booted and restored.
func (k Kind) Throttles(t *testing.T) {
	k.Each(t, func(t *testing.T, b *Bench) {
		for _, start := range []string{"boot", "snapshot"} {
			e := b.Environment(t, `{"start": "`+start+`"}`)
			r := b.Request("slow-" + start)
			r.Limits.IO = environment.IO{Read: 2 * quantity.MiB, Write: 2 * quantity.MiB, ReadOps: 5000, WriteOps: 5000}
			i := b.Start(t, e, r)
			limits, err := environment.CheckLimits(b.Context, i, r.Limits)
			own := slices.DeleteFunc(limits, func(s environment.EffectiveLimit) bool { return s.Where != k.Name+"'s configuration" })
			if b.Real && err != nil || len(own) != 4 {
				t.Errorf("start: %s: %v, %v", start, own, err)
			}
			began := time.Now()
			// The bucket is full at first, so that 2 of the 6 MiB are not throttled.
			b.Run(t, i, "dd if=/dev/zero of=/data/slow bs=64k count=96 conv=fsync 2>/dev/null")
			if took := time.Since(began); b.Real && took < time.Second {
				t.Errorf("start: %s: 6 MiB at 2 MiB a second took only %v", start, took)
			}
			b.Stop(t, i)
			r = b.Request("uneven")
			r.Limits.IO = environment.IO{Read: 2 * quantity.MiB}
			b.Refused(t, `{}`, r, "limits: io: "+k.Name)
		}
	})
}

// Restores tests guests that are restored from a snapshot, and that the VMM's reason is
// quoted when it refuses a broken one.
func (k Kind) Restores(t *testing.T, reason string) {
	k.Each(t, func(t *testing.T, b *Bench) {
		e := b.Environment(t, `{"start": "snapshot"}`)
		first := b.Start(t, e, b.Request("first"))
		const id = "dmesg | head -100 | cksum" // the kernel's boot log has times in microseconds
		boot := b.Run(t, first, id+"; echo x >/data/mine; echo x >/etc/mine; sync")
		second := b.Start(t, e, b.Request("second")) // while the first runs
		if got := b.Run(t, second, id+"; ls -A /data; ls /etc/mine 2>/dev/null; true"); got != boot {
			t.Errorf("the second is not the first's twin, or no fresh one: %q, %q", got, boot)
		}
		if b.Real {
			now, want := b.Run(t, second, "date +%s"), time.Now()
			const tolerance = 10 * time.Second // for the machine to be slow
			if got, err := time.ParseDuration(now + "s"); err != nil || want.Sub(time.Unix(int64(got.Seconds()), 0)).Abs() > tolerance {
				t.Errorf("its clock shows %s at %d", now, want.Unix())
			}
		}
		for _, i := range []environment.Instance{first, second} {
			b.isWhole(t, i)
		}
		saved := filepath.Join(b.Owner.Home(), "work", b.Owner.ID(), "second", microvm.SnapshotDirectory, k.VMM.Snapshot[0])
		if err := os.Truncate(saved, 1); err != nil {
			t.Fatal(err)
		}
		b.RefusedBy(t, e, b.Request("broken"), k.VMM.Load+" was refused (", reason)
		b.Stop(t, first)
		b.Stop(t, second)
		if n, err := e.NewNetwork(t.Context(), nil, "between"); n != nil || err != nil {
			t.Errorf("restored guests join networks: %v, %v", n, err)
		}
	})
}

// SavesInItsOwnTime tests that start_timeout bounds the boot of a guest and not the
// snapshot, whose size is that of the guest's memory. It needs no real VMM; pause is the
// request before the snapshot.
func (k Kind) SavesInItsOwnTime(t *testing.T, pause string) {
	needs.Root(t)
	testenv.NeedsAgent(t)
	const patience = 5 * time.Second
	ctx := microvm.Observe(t.Context(), func(e microvm.Exchange) {
		if e.Request == pause && strings.HasSuffix(e.Directory, "-saved") {
			<-time.After(patience) // until it is over
		}
	})
	b := &Bench{Program: k.replay(t), Owner: testenv.Owner(t, t.TempDir()), Image: testenv.Image(t), Context: ctx, kind: k}
	b.Stop(t, b.Start(t, b.Environment(t, fmt.Sprintf(`{"start": "snapshot", "start_timeout": %d}`, patience)), b.Request("first")))
}

// Reaches tests guests with a network card, whose bandwidth is limited.
func (k Kind) Reaches(t *testing.T) {
	k.Each(t, func(t *testing.T, b *Bench) {
		for network, lines := range map[string]string{"tap": "2", "nat": "3"} {
			i := b.Start(t, b.Environment(t, `{"network": "`+network+`", "net_bandwidth": "1MiB", "net_ops": 5000}`), b.Request(network))
			if got := b.Run(t, i, "cat /proc/net/route | wc -l"); i.Address() == "" || b.Real && got != lines {
				t.Errorf("%s: address %q, %s lines of routes", network, i.Address(), got)
			}
			if b.Real && network == "tap" {
				for _, way := range []string{"in", "out"} {
					sendsSlowly(t, i, way)
				}
			}
			b.Stop(t, i)
		}
	})
}

// sendsSlowly sends through a card of 1 MiB a second, into the guest or out of it.
func sendsSlowly(t *testing.T, i environment.Instance, way string) {
	t.Helper()
	const port, size = "7217", 4 << 20
	const server = `use IO::Socket::INET; $SIG{PIPE} = "IGNORE";
my ($port, $way, $size) = @ARGV;
my $s = IO::Socket::INET->new(LocalPort => $port, Listen => 1, ReuseAddr => 1) or die "listening: $@";
while (my $c = $s->accept) {
	if ($way eq "out") { syswrite $c, "x" x 65536 for 1 .. $size / 65536; close $c; next }
	my $got = 0;
	while (my $n = sysread $c, my $some, 65536) { $got += $n; last if $got >= $size }
	syswrite $c, $got if $got;
	close $c
}`
	p, err := i.Agent().Start(t.Context(), agent.Command{Argv: []string{"perl", "-e", server, port, way, fmt.Sprint(size)}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := i.Agent().Await(t.Context(), agent.Probe{TCP: "127.0.0.1:" + port, Timeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp4", net.JoinHostPort(i.Address(), port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	began := time.Now()
	if way == "in" {
		if _, err := conn.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	answer, err := io.ReadAll(conn)
	took := time.Since(began)
	if err != nil || way == "out" && len(answer) != size || way == "in" && string(answer) != fmt.Sprint(size) {
		t.Errorf("%s: %v after %d bytes", way, err, len(answer))
	}
	// The bucket is full at first, so that 1 of the 4 MiB is not throttled.
	t.Logf("%d bytes %s took %v", size, way, took)
	if took < time.Second {
		t.Errorf("%s: 4 MiB at 1 MiB a second took only %v", way, took)
	}
	if err := p.Signal(t.Context(), agent.Signal(9)); err != nil {
		t.Error(err)
	}
	_, _ = p.Wait(t.Context())
}

// Fails tests the messages of starts that fail.
func (k Kind) Fails(t *testing.T) {
	k.Each(t, func(t *testing.T, b *Bench) {
		patience := 3 * time.Second
		if b.Real {
			patience = time.Minute
		}
		log := "the last lines of " + k.Name + "'s log"
		b.Refused(t, `{"kernel_args": "rdinit=/absent init=/absent loglevel=7"}`, b.Request("dies"),
			"the guest died before its agent was ready (it reset itself", "the last lines of its console", "Kernel panic", log)
		b.Refused(t, fmt.Sprintf(`{"kernel_args": "tare.await=1", "start_timeout": %d}`, patience), b.Request("silent"),
			fmt.Sprintf("the guest runs, but its agent was not ready within start_timeout, %v", patience), log)
	})
}
