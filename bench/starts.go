package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent"
	"tare/internal/environment"
	"tare/internal/environment/support/rootfs"
	"tare/internal/linux/cgroup"
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
		hand                func(ctx context.Context, s *session, env environment.Environment, program, directory string) (byHand, error)
		pairs               int
	}{
		{"`docker run`", "docker", `{}`, dockerByHand, s.pairs},
		{"`runsc run` in a script", "gvisor", `{"engine": "direct"}`, runscByHand, s.pairs},
		{"`runc run` in a script", "oci", `{"network": "none"}`, runcByHand, s.pairs},
		{"`bwrap` in a script", "bubblewrap", `{}`, bwrapByHand, s.pairs},
		{"qemu q35 with the same kernel", "qemu", `{"machine": "q35"}`, qemuByHand, max(6, s.pairs*2/3)},
	}
	for _, c := range cases {
		what := "start time of an instance in tare vs " + c.name
		env, missing, err := s.environment(ctx, c.kind, c.options, s.image)
		if err != nil {
			return nil, err
		}
		if missing != "" {
			rows = append(rows, row{what, startTarget, "not measured: " + missing, "?"})
			continue
		}
		hand, err := c.hand(ctx, s, env, program, filepath.Join(directory, c.kind))
		if err != nil {
			return nil, err
		}
		tare := func(ctx context.Context, n int) (time.Duration, error) {
			request := s.startOf(fmt.Sprintf("%s-%d", c.kind, n))
			if c.kind == "qemu" {
				request.Limits = environment.Limits{} // by hand it is in no cgroup
			}
			i, err := env.Start(ctx, request)
			if err != nil {
				return 0, err
			}
			// The start time that tare reports excludes the directories of root and data,
			// which the manual start has made beforehand as well.
			return environment.StartTime(i.Phases()), i.Stop(ctx)
		}
		row, err := s.pair(ctx, what, tare, hand, c.pairs)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.kind, err)
		}
		fmt.Fprintln(s.log, row.what, row.measured)
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
	return row{what, startTarget, fmt.Sprintf("%.3f [%.3f, %.3f]; medians %.0f and %.0f ms, %d pairs",
		ratio, math.Exp(i.Low), math.Exp(i.High), stats.Median(own)*1e3, stats.Median(other)*1e3, pairs), verdict(ratio <= 1.10)}, nil
}

const startTarget = "≤ 1.10 times"

// startOf an instance has the same limits on both sides.
func (s *session) startOf(name string) environment.Request {
	limits := environment.Limits{CPUs: 1, Memory: 512 << 20, PIDs: 512}
	return environment.Request{Name: name, Owner: s.owner, Image: s.image, Limits: limits, Console: io.Discard}
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

func dockerByHand(ctx context.Context, s *session, _ environment.Environment, program, directory string) (byHand, error) {
	// The name under which tare has loaded the image.
	tag := "localhost/tare:" + strings.TrimPrefix(s.image.Digest, "sha256:")
	return func(ctx context.Context, n int) (time.Duration, error) {
		data := fmt.Sprintf("%s/%d", directory, n)
		if err := os.MkdirAll(data, 0o755); err != nil {
			return 0, err
		}
		return firstByte(ctx, []string{"docker", "run", "--rm", "--interactive", "--log-driver", "none",
			"--cpus", "1", "--memory", "512m", "--memory-swap", "512m", "--pids-limit", "512",
			"--volume", program + ":/.tare/agent:ro", "--volume", data + ":/data", tag, "/.tare/agent", "stdio"})
	}, nil
}

// script starts with a cgroup: it takes the group's directories in one word, and then
// pairs of a file and the text to write into it up to --.
const script = `set -e
mkdir $1; shift
while [ "$1" != -- ]; do echo "$2" >"$1"; shift 2; done; shift
`

// cgroupByHand returns the words that script takes for a group with the limits that
// another one has, and for a process that joins it.
func cgroupByHand(like, group *cgroup.Group, joins bool) []string {
	var directories, writes []string
	from := like.ProcsFiles()
	for n, procs := range group.ProcsFiles() {
		directory := filepath.Dir(procs)
		directories = append(directories, directory)
		for _, file := range []string{
			"cpuset.mems", "cpuset.cpus", "cpu.cfs_quota_us", "cpu.max", "memory.limit_in_bytes", "memory.memsw.limit_in_bytes",
			"memory.max", "memory.swap.max", "pids.max",
		} {
			text, err := os.ReadFile(filepath.Join(filepath.Dir(from[n]), file))
			if value := strings.TrimSpace(string(text)); err == nil && value != "" {
				writes = append(writes, filepath.Join(directory, file), value)
			}
		}
		if joins {
			writes = append(writes, procs, "0")
		}
	}
	return slices.Concat([]string{strings.Join(directories, " ")}, writes, []string{"--"})
}

// handMade is a start in a script that does what tare does.
type handMade struct {
	// example starts of tare: what is equal on both sides is taken from it.
	example environment.Instance
	// prepare makes the directories of an instance, which is not part of the start.
	prepare func(ctx context.Context, directory string) error
	script  string // after the cgroup
	words   func(directory, group string) []string
	joins   bool // the script joins the cgroup
	after   func(directory string) error
}

// by returns the start by hand.
func (h handMade) by(s *session, directory string) (byHand, error) {
	like, err := cgroup.At(h.example.Footprint().Cgroups[0])
	if err != nil {
		return nil, err
	}
	// It is read now: the example is stopped before the first start.
	example := cgroupByHand(like, like, h.joins)
	return func(ctx context.Context, n int) (_ time.Duration, err error) {
		own := fmt.Sprintf("%s/%d", directory, n)
		if err := os.MkdirAll(own, 0o755); err != nil {
			return 0, err
		}
		if err := h.prepare(ctx, own); err != nil {
			return 0, err
		}
		group, err := cgroup.At(s.owner.Cgroup(fmt.Sprintf("by-hand-%s-%d", filepath.Base(directory), n)))
		if err != nil {
			return 0, err
		}
		defer func() {
			err = errors.Join(err, group.Kill(ctx), group.Remove()) // what ends may not have ended yet
			if h.after != nil {
				err = errors.Join(err, h.after(own))
			}
		}()
		words := []string{"sh", "-c", script + h.script, "sh"}
		for _, word := range example {
			words = append(words, strings.ReplaceAll(word, like.Path(), group.Path()))
		}
		return firstByte(ctx, append(words, h.words(own, group.Path())...))
	}, nil
}

// example starts an instance of tare, and stops it when what is needed of it was read.
func example(ctx context.Context, s *session, env environment.Environment, name string, read func(environment.Instance) (byHand, error)) (hand byHand, err error) {
	i, err := env.Start(ctx, s.startOf(name))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, i.Stop(ctx)) }()
	return read(i)
}

// bundleByHand makes a template of the configuration that tare wrote for an instance,
// with @DIRECTORY@, @GROUP@ and @NAME@ in place of what differs between instances.
func bundleByHand(s *session, name, group, directory string, change func(map[string]any)) (string, error) {
	own, err := s.owner.Directory(name)
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(filepath.Join(own, "config.json"))
	if err != nil {
		return "", err
	}
	var config map[string]any
	if err := json.Unmarshal([]byte(strings.NewReplacer(own, "@DIRECTORY@", group, "@GROUP@", name, "@NAME@").Replace(string(text))), &config); err != nil {
		return "", err
	}
	change(config)
	if text, err = json.Marshal(config); err != nil {
		return "", err
	}
	template := filepath.Join(directory, "template.json")
	return template, errors.Join(os.MkdirAll(directory, 0o755), os.WriteFile(template, text, 0o644))
}

// fillTemplate is the part of a script that writes the configuration of an instance:
// template, directory, group and name are its next words.
const fillTemplate = `sed -e "s|@DIRECTORY@|$2|g" -e "s|@GROUP@|$3|g" -e "s|@NAME@|$4|g" "$1" >"$2/config.json"
`

// makeDirectories below a directory.
func makeDirectories(names ...string) func(context.Context, string) error {
	return func(_ context.Context, directory string) error {
		for _, name := range names {
			if err := os.MkdirAll(filepath.Join(directory, name), 0o755); err != nil {
				return err
			}
		}
		return nil
	}
}

// runscByHand runs runsc with the configuration, the mount points over the image, the
// overlay and the network namespace that tare uses.
func runscByHand(ctx context.Context, s *session, env environment.Environment, program, directory string) (byHand, error) {
	const name = "example-runsc"
	image, err := s.image.Directory(ctx)
	if err != nil {
		return nil, err
	}
	return example(ctx, s, env, name, func(i environment.Instance) (byHand, error) {
		group := i.Footprint().Cgroups[0]
		var root string
		template, err := bundleByHand(s, name, group, directory, func(config map[string]any) {
			root = config["root"].(map[string]any)["path"].(string)
			linux := config["linux"].(map[string]any)
			// The script makes it, with its loopback up.
			linux["namespaces"] = slices.DeleteFunc(linux["namespaces"].([]any), func(n any) bool { return n.(map[string]any)["type"] == "network" })
		})
		if err != nil {
			return nil, err
		}
		return handMade{
			example: i, prepare: makeDirectories("data"), joins: true,
			script: fillTemplate + `exec unshare --mount --net sh -c 'set -e
ip link set lo up
mount -t overlay -o "ro,lowerdir=$2:$3" by-hand "$2"
exec runsc --root="$1" --ignore-cgroups --overlay2=root:dir="$1" --platform=systrap --network=sandbox run --bundle "$1" "$4"' sh "$2" "$5" "$6" "$4"`,
			words: func(own, group string) []string {
				return []string{template, own, group, fmt.Sprintf("by-hand-%d-%s", os.Getpid(), filepath.Base(own)), root, image}
			},
		}.by(s, directory)
	})
}

// runcByHand runs runc with the configuration and the overlay that tare uses: limits,
// masked paths, seccomp filter, namespaces.
func runcByHand(ctx context.Context, s *session, env environment.Environment, program, directory string) (byHand, error) {
	const name = "example-runc"
	image, err := s.image.Directory(ctx)
	if err != nil {
		return nil, err
	}
	return example(ctx, s, env, name, func(i environment.Instance) (byHand, error) {
		template, err := bundleByHand(s, name, i.Footprint().Cgroups[0], directory, func(map[string]any) {})
		if err != nil {
			return nil, err
		}
		return handMade{
			example: i, prepare: makeDirectories("root", "upper/data", "work", "data"),
			script: fillTemplate + `mount -t overlay -o "lowerdir=$5,upperdir=$2/upper,workdir=$2/work" by-hand "$2/root"
exec runc --root "$2/state" run --bundle "$2" "$4"`,
			words: func(own, group string) []string {
				return []string{template, own, group, fmt.Sprintf("by-hand-%d-%s", os.Getpid(), filepath.Base(own)), image}
			},
			after: func(own string) error { return unix.Unmount(filepath.Join(own, "root"), 0) },
		}.by(s, directory)
	})
}

// bwrapByHand runs bwrap with the root, the namespaces and the cgroup that tare uses.
func bwrapByHand(ctx context.Context, s *session, env environment.Environment, program, directory string) (byHand, error) {
	image, err := s.image.Directory(ctx)
	if err != nil {
		return nil, err
	}
	return example(ctx, s, env, "example-bwrap", func(i environment.Instance) (byHand, error) {
		var binds []string
		return handMade{
			example: i, joins: true,
			prepare: func(ctx context.Context, own string) (err error) {
				if err := makeDirectories("root", "data")(ctx, own); err != nil {
					return err
				}
				binds, err = rootfs.Fresh(image, filepath.Join(own, "root"))
				return err
			},
			script: `exec bwrap "$@"`,
			words: func(own, _ string) []string {
				words := []string{"--bind", filepath.Join(own, "root"), "/"}
				for _, bind := range binds { // SOURCE:TARGET:ro
					fields := strings.Split(bind, ":")
					words = append(words, "--ro-bind", fields[0], fields[1])
				}
				return append(words, "--proc", "/proc", "--dev", "/dev", "--ro-bind", "/sys", "/sys",
					"--bind", filepath.Join(own, "data"), "/data", "--ro-bind", program, "/tare-agent",
					"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--", "/tare-agent", "stdio", "--open", "/data")
			},
		}.by(s, directory)
	})
}

func qemuByHand(ctx context.Context, s *session, _ environment.Environment, program, directory string) (byHand, error) {
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
