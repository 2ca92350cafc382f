package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/stats"
)

// byHand starts the agent in an environment with the technology's own command, as
// on a command line, and returns the time until the agent's first byte.
type byHand func(ctx context.Context, n int) (time.Duration, error)

// measureStarts compares the start time of an instance in tare with that of a
// manual start, in pairs of random order.
func measureStarts(ctx context.Context, s *session) (rows []row, err error) {
	program, err := agent.WriteBinary(filepath.Join(s.home, "agent"))
	if err != nil {
		return nil, err
	}
	directory := filepath.Join(s.home, "by-hand")
	if err := os.RemoveAll(directory); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory)
	cases := []struct {
		name, kind, options string
		hand                func(ctx context.Context, s *session, program, directory string) (byHand, error)
		pairs               int
	}{
		{"`docker run`", "docker", `{}`, dockerByHand, s.pairs},
		{"`runsc run`", "gvisor", `{"engine": "direct"}`, runscByHand, s.pairs},
		{"`runc run`", "oci", `{"network": "none"}`, runcByHand, s.pairs},
		{"`bwrap`", "bubblewrap", `{}`, bwrapByHand, s.pairs},
		{"qemu q35 with the same kernel", "qemu", `{"machine": "q35"}`, qemuByHand, max(6, s.pairs*2/3)},
	}
	for _, c := range cases {
		what := "start time of an instance in tare vs " + c.name
		env, missing, err := s.environment(ctx, c.kind, c.options, s.image)
		if err != nil {
			return nil, err
		}
		if missing != "" {
			rows = append(rows, row{what, "≤ 1.05", "not measured: " + missing, "?"})
			continue
		}
		hand, err := c.hand(ctx, s, program, filepath.Join(directory, c.kind))
		if err != nil {
			return nil, err
		}
		tare := func(ctx context.Context, n int) (time.Duration, error) {
			i, err := env.Start(ctx, environment.Request{Name: fmt.Sprintf("%s-%d", c.kind, n), Owner: s.owner, Image: s.image, Console: io.Discard})
			if err != nil {
				return 0, err
			}
			// The start time that tare reports excludes the preparation of root and
			// bundle, which the manual start has done beforehand as well.
			return environment.StartTime(i.Phases()), i.Stop(ctx)
		}
		row, err := s.pair(ctx, what, tare, hand, c.pairs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.kind, err)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// pair measures both sides in pairs and returns the row of their ratio.
func (s *session) pair(ctx context.Context, what string, tare, hand byHand, pairs int) (row, error) {
	var logs, own, other []float64
	for n := -1; n < pairs; n++ { // the first pair warms both up
		var took [2]time.Duration
		first := rand.IntN(2)
		for _, side := range []int{first, 1 - first} {
			var err error
			if took[side], err = []byHand{tare, hand}[side](ctx, n+1); err != nil {
				return row{}, err
			}
		}
		if n >= 0 {
			logs = append(logs, math.Log(took[0].Seconds()/took[1].Seconds()))
			own, other = append(own, took[0].Seconds()), append(other, took[1].Seconds())
		}
	}
	i := stats.HodgesLehmann(logs, 0.05)
	ratio := math.Exp(i.Estimate)
	return row{what, "≤ 1.05 times", fmt.Sprintf("%.3f [%.3f, %.3f]; medians %.0f and %.0f ms, %d pairs",
		ratio, math.Exp(i.Low), math.Exp(i.High), stats.Median(own)*1e3, stats.Median(other)*1e3, pairs), verdict(ratio <= 1.05)}, nil
}

// firstByte starts a command and waits for one byte of its output, then ends it
// by closing its input.
func firstByte(ctx context.Context, argv []string) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var errs strings.Builder
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_, err = out.Read(make([]byte, 1))
	took := time.Since(began)
	in.Close()
	_, _ = io.Copy(io.Discard, out)
	if waited := cmd.Wait(); err != nil {
		return 0, fmt.Errorf("%s: %v, %v: %s", strings.Join(argv, " "), err, waited, errs.String())
	}
	return took, nil
}

func dockerByHand(ctx context.Context, s *session, program, directory string) (byHand, error) {
	// The name under which tare has loaded the image.
	tag := "localhost/tare:" + strings.TrimPrefix(s.image.Digest, "sha256:")
	return func(ctx context.Context, n int) (time.Duration, error) {
		data := fmt.Sprintf("%s/%d", directory, n)
		if err := os.MkdirAll(data, 0o755); err != nil {
			return 0, err
		}
		return firstByte(ctx, []string{"docker", "run", "--rm", "--interactive", "--log-driver", "none",
			"--volume", program + ":/.tare/agent:ro", "--volume", data + ":/data", tag, "/.tare/agent", "stdio"})
	}, nil
}

// rootByHand makes a copy of the image with the agent, in directory/rootfs.
func rootByHand(ctx context.Context, s *session, program, directory string) error {
	root, err := s.image.Directory(ctx)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	script := `cp -a "$1" "$3/rootfs" && mkdir -p "$3/rootfs/data" && cp "$2" "$3/rootfs/agent"`
	if out, err := exec.CommandContext(ctx, "sh", "-c", script, "sh", root, program, directory).CombinedOutput(); err != nil {
		return fmt.Errorf("copy of the image: %v: %s", err, out)
	}
	return nil
}

// runscByHand runs runsc on a minimal bundle.
func runscByHand(ctx context.Context, s *session, program, directory string) (byHand, error) {
	if err := rootByHand(ctx, s, program, directory); err != nil {
		return nil, err
	}
	config := map[string]any{
		"ociVersion": "1.0.2",
		"root":       map[string]any{"path": "rootfs"},
		"process":    map[string]any{"args": []string{"/agent", "stdio"}, "cwd": "/", "env": []string{"PATH=/usr/bin:/bin"}, "user": map[string]any{"uid": 0, "gid": 0}},
		"mounts":     []any{map[string]any{"destination": "/proc", "type": "proc", "source": "proc"}, map[string]any{"destination": "/dev", "type": "tmpfs", "source": "tmpfs"}},
		"linux":      map[string]any{"namespaces": []any{map[string]any{"type": "pid"}, map[string]any{"type": "network"}, map[string]any{"type": "ipc"}, map[string]any{"type": "uts"}, map[string]any{"type": "mount"}}},
	}
	text, err := json.Marshal(config)
	if err == nil {
		err = os.WriteFile(filepath.Join(directory, "config.json"), text, 0o644)
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, n int) (time.Duration, error) {
		// A separate mount namespace, so that runsc's mounts disappear with it.
		return firstByte(ctx, []string{"unshare", "--mount", "runsc", "--root", filepath.Join(directory, "state"), "--ignore-cgroups", "--network=sandbox",
			"--platform=systrap", "run", "--bundle", directory, fmt.Sprintf("by-hand-%d-%d", os.Getpid(), n)})
	}, nil
}

// runcByHand runs runc on the bundle of `runc spec`, with the agent instead of the
// shell.
func runcByHand(ctx context.Context, s *session, program, directory string) (byHand, error) {
	if err := rootByHand(ctx, s, program, directory); err != nil {
		return nil, err
	}
	file := filepath.Join(directory, "config.json")
	if out, err := exec.CommandContext(ctx, "runc", "spec", "--bundle", directory).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("runc spec: %v: %s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var config map[string]any
	if err := json.Unmarshal(text, &config); err != nil {
		return nil, err
	}
	process := config["process"].(map[string]any)
	process["terminal"], process["args"] = false, []string{"/agent", "stdio"}
	if text, err = json.Marshal(config); err == nil {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, n int) (time.Duration, error) {
		return firstByte(ctx, []string{"runc", "--root", filepath.Join(directory, "state"), "run", "--bundle", directory, fmt.Sprintf("by-hand-%d-%d", os.Getpid(), n)})
	}, nil
}

// bwrapByHand runs bwrap with the namespaces that tare uses.
func bwrapByHand(ctx context.Context, s *session, program, directory string) (byHand, error) {
	if err := rootByHand(ctx, s, program, directory); err != nil {
		return nil, err
	}
	return func(ctx context.Context, n int) (time.Duration, error) {
		return firstByte(ctx, []string{"bwrap", "--bind", filepath.Join(directory, "rootfs"), "/", "--proc", "/proc", "--dev", "/dev",
			"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--", "/agent", "stdio"})
	}, nil
}

func qemuByHand(ctx context.Context, s *session, program, directory string) (byHand, error) {
	guest, err := s.image.Guest(ctx, program, func(string) {})
	if err != nil {
		return nil, err
	}
	disk, err := s.image.Disk(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, err
	}
	data := filepath.Join(directory, "data.raw")
	if out, err := exec.CommandContext(ctx, "sh", "-c", `truncate -s 2G "$1" && mke2fs -q -t ext4 "$1"`, "sh", data).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("data disk: %v: %s", err, out)
	}
	return func(ctx context.Context, n int) (time.Duration, error) {
		socket := filepath.Join(directory, "s")
		listener, err := net.Listen("unix", socket)
		if err != nil {
			return 0, err
		}
		defer listener.Close()
		cmd := exec.CommandContext(ctx, "qemu-system-x86_64", "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
			"-machine", "q35", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "1", "-m", "512M",
			"-kernel", guest.Kernel, "-initrd", guest.Initramfs,
			"-append", "console=ttyS0 quiet panic=-1 tare.root=/dev/vda tare.data=/dev/vdb tare.port=tare tare.off=poweroff",
			"-chardev", "null,id=console", "-serial", "chardev:console",
			"-chardev", "socket,id=agent,path="+socket, "-device", "virtio-serial-pci", "-device", "virtserialport,chardev=agent,name=tare",
			"-drive", "if=none,id=root,format=raw,snapshot=on,file="+disk, "-device", "virtio-blk-pci,drive=root",
			"-drive", "if=none,id=data,format=raw,snapshot=on,file="+data, "-device", "virtio-blk-pci,drive=data")
		began := time.Now()
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		conn, err := listener.Accept()
		if err != nil {
			return 0, err
		}
		_, err = conn.Read(make([]byte, 1))
		took := time.Since(began)
		// The guest can be killed: its disks are snapshots.
		if killed := cmd.Process.Kill(); err == nil {
			err = killed
		}
		_ = cmd.Wait()
		conn.Close()
		if err != nil {
			return 0, fmt.Errorf("qemu by hand: %w", err)
		}
		return took, nil
	}, nil
}
