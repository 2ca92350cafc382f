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
	"tare/internal/base/failing"
	"tare/internal/environment"
	"tare/internal/environment/support/rootfs"
	"tare/internal/linux/cgroup"
	"tare/internal/stats"
)

// byHand starts the agent in an environment with the technology's own command, as
// on a command line, and returns the time until the agent's first byte.
type byHand func(ctx context.Context, n int) time.Duration

// measureStarts compares the start time of an instance in tare with that of a
// manual start, in pairs of random order.
func measureStarts(ctx context.Context, s *session) (rows []row) {
	program := failing.Must(agent.WriteBinary(filepath.Join(s.home, "agent")))
	directory := filepath.Join(s.home, "by-hand")
	failing.If(os.RemoveAll(directory))
	failing.If(os.MkdirAll(directory, 0o755))
	defer os.RemoveAll(directory)
	cases := []struct {
		name, kind, options string
		hand                func(ctx context.Context, s *session, env environment.Environment, program, directory string) byHand
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
		env, missing := s.environment(ctx, c.kind, c.options, s.image)
		if missing != "" {
			rows = append(rows, row{what, startTarget, "not measured: " + missing, "?"})
			continue
		}
		hand := c.hand(ctx, s, env, program, filepath.Join(directory, c.kind))
		tare := func(ctx context.Context, n int) time.Duration {
			request := s.startOf(fmt.Sprintf("%s-%d", c.kind, n))
			if c.kind == "qemu" {
				request.Limits = environment.Limits{} // by hand it is in no cgroup
			}
			i := failing.Must(env.Start(ctx, request))
			// The start time that tare reports excludes the directories of root and data,
			// which the manual start has made beforehand as well.
			took := environment.StartTime(i.Phases())
			failing.If(i.Stop(ctx))
			return took
		}
		if err := failing.Caught(func() { rows = append(rows, s.pair(ctx, what, tare, hand, c.pairs)) }); err != nil {
			failing.With("%s: %w", c.kind, err)
		}
		last := rows[len(rows)-1]
		fmt.Fprintln(s.log, last.what, last.measured)
	}
	return rows
}

// pair measures both sides in pairs and returns the row of their ratio.
func (s *session) pair(ctx context.Context, what string, tare, hand byHand, pairs int) row {
	var logs, own, other []float64
	for n := -1; n < pairs; n++ { // the first pair warms both up
		var took [2]time.Duration
		first := rand.IntN(2)
		for _, side := range []int{first, 1 - first} {
			took[side] = []byHand{tare, hand}[side](ctx, n+1)
		}
		if n >= 0 {
			logs = append(logs, math.Log(took[0].Seconds()/took[1].Seconds()))
			own, other = append(own, took[0].Seconds()), append(other, took[1].Seconds())
		}
	}
	i := stats.HodgesLehmann(logs, 0.05)
	ratio := math.Exp(i.Estimate)
	return row{what, startTarget, fmt.Sprintf("%.3f [%.3f, %.3f]; medians %.0f and %.0f ms, %d pairs",
		ratio, math.Exp(i.Low), math.Exp(i.High), stats.Median(own)*1e3, stats.Median(other)*1e3, pairs), verdict(ratio <= 1.10)}
}

const startTarget = "≤ 1.10 times"

// startOf an instance has the same limits on both sides.
func (s *session) startOf(name string) environment.Request {
	limits := environment.Limits{CPUs: 1, Memory: 512 << 20, PIDs: 512}
	return environment.Request{Name: name, Owner: s.owner, Image: s.image, Limits: limits, Console: io.Discard}
}

// firstByte starts a command and waits for one byte of its output, then ends it
// by closing its input.
func firstByte(ctx context.Context, argv []string) time.Duration {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var errs strings.Builder
	cmd.Stderr = &errs
	in := failing.Must(cmd.StdinPipe())
	out := failing.Must(cmd.StdoutPipe())
	began := time.Now()
	failing.If(cmd.Start())
	_, err := out.Read(make([]byte, 1))
	took := time.Since(began)
	in.Close()
	_, _ = io.Copy(io.Discard, out)
	if waited := cmd.Wait(); err != nil {
		failing.With("%s: %v, %v: %s", strings.Join(argv, " "), err, waited, errs.String())
	}
	return took
}

func dockerByHand(ctx context.Context, s *session, _ environment.Environment, program, directory string) byHand {
	// The name under which tare has loaded the image.
	tag := "localhost/tare:" + strings.TrimPrefix(s.image.Digest, "sha256:")
	return func(ctx context.Context, n int) time.Duration {
		data := fmt.Sprintf("%s/%d", directory, n)
		failing.If(os.MkdirAll(data, 0o755))
		return firstByte(ctx, []string{"docker", "run", "--rm", "--interactive", "--log-driver", "none",
			"--cpus", "1", "--memory", "512m", "--memory-swap", "512m", "--pids-limit", "512",
			"--volume", program + ":/.tare/agent:ro", "--volume", data + ":/data", tag, "/.tare/agent", "stdio"})
	}
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
	prepare func(directory string)
	script  string // after the cgroup
	words   func(directory, group string) []string
	joins   bool // the script joins the cgroup
	after   func(directory string) error
}

func (h handMade) by(s *session, directory string) byHand {
	like := failing.Must(cgroup.At(h.example.Footprint().Cgroups[0]))
	// It is read now: the example is stopped before the first start.
	example := cgroupByHand(like, like, h.joins)
	return func(ctx context.Context, n int) time.Duration {
		own := fmt.Sprintf("%s/%d", directory, n)
		failing.If(os.MkdirAll(own, 0o755))
		h.prepare(own)
		group := failing.Must(cgroup.At(s.owner.Cgroup(fmt.Sprintf("by-hand-%s-%d", filepath.Base(directory), n))))
		defer func() {
			err := errors.Join(group.Kill(ctx), group.Remove()) // what ends may not have ended yet
			if h.after != nil {
				err = errors.Join(err, h.after(own))
			}
			failing.If(err)
		}()
		words := []string{"sh", "-c", script + h.script, "sh"}
		for _, word := range example {
			words = append(words, strings.ReplaceAll(word, like.Path(), group.Path()))
		}
		return firstByte(ctx, append(words, h.words(own, group.Path())...))
	}
}

// example starts an instance of tare, and stops it when what is needed of it was read.
func example(ctx context.Context, s *session, env environment.Environment, name string, read func(environment.Instance) byHand) byHand {
	i := failing.Must(env.Start(ctx, s.startOf(name)))
	defer func() { failing.If(i.Stop(ctx)) }()
	return read(i)
}

// bundleByHand makes a template of the configuration that tare wrote for an instance,
// with @DIRECTORY@, @GROUP@ and @NAME@ in place of what differs between instances.
func bundleByHand(s *session, name, group, directory string, change func(map[string]any)) (template string) {
	own := failing.Must(s.owner.Directory(name))
	text := failing.Must(os.ReadFile(filepath.Join(own, "config.json")))
	var config map[string]any
	failing.If(json.Unmarshal([]byte(strings.NewReplacer(own, "@DIRECTORY@", group, "@GROUP@", name, "@NAME@").Replace(string(text))), &config))
	change(config)
	text = failing.Must(json.Marshal(config))
	template = filepath.Join(directory, "template.json")
	failing.If(errors.Join(os.MkdirAll(directory, 0o755), os.WriteFile(template, text, 0o644)))
	return template
}

// fillTemplate is the part of a script that writes the configuration of an instance:
// template, directory, group and name are its next words.
const fillTemplate = `sed -e "s|@DIRECTORY@|$2|g" -e "s|@GROUP@|$3|g" -e "s|@NAME@|$4|g" "$1" >"$2/config.json"
`

// makeDirectories below a directory.
func makeDirectories(names ...string) func(string) {
	return func(directory string) {
		for _, name := range names {
			failing.If(os.MkdirAll(filepath.Join(directory, name), 0o755))
		}
	}
}

// runscByHand runs runsc with the configuration, the mount points over the image, the
// overlay and the network namespace that tare uses.
func runscByHand(ctx context.Context, s *session, env environment.Environment, program, directory string) byHand {
	const name = "example-runsc"
	image := failing.Must(s.image.Directory(ctx))
	return example(ctx, s, env, name, func(i environment.Instance) byHand {
		group := i.Footprint().Cgroups[0]
		var root string
		template := bundleByHand(s, name, group, directory, func(config map[string]any) {
			root = config["root"].(map[string]any)["path"].(string)
			linux := config["linux"].(map[string]any)
			// The script makes it, with its loopback up.
			linux["namespaces"] = slices.DeleteFunc(linux["namespaces"].([]any), func(n any) bool { return n.(map[string]any)["type"] == "network" })
		})
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
func runcByHand(ctx context.Context, s *session, env environment.Environment, program, directory string) byHand {
	const name = "example-runc"
	image := failing.Must(s.image.Directory(ctx))
	return example(ctx, s, env, name, func(i environment.Instance) byHand {
		template := bundleByHand(s, name, i.Footprint().Cgroups[0], directory, func(map[string]any) {})
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
func bwrapByHand(ctx context.Context, s *session, env environment.Environment, program, directory string) byHand {
	image := failing.Must(s.image.Directory(ctx))
	return example(ctx, s, env, "example-bwrap", func(i environment.Instance) byHand {
		var binds []string
		return handMade{
			example: i, joins: true,
			prepare: func(own string) {
				makeDirectories("root", "data")(own)
				binds = failing.Must(rootfs.Fresh(image, filepath.Join(own, "root")))
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

func qemuByHand(ctx context.Context, s *session, _ environment.Environment, program, directory string) byHand {
	guest := failing.Must(s.image.Guest(ctx, program, func(string) {}))
	disk := failing.Must(s.image.Disk(ctx))
	failing.If(os.MkdirAll(directory, 0o755))
	data := filepath.Join(directory, "data.raw")
	if out, err := exec.CommandContext(ctx, "sh", "-c", `truncate -s 2G "$1" && mke2fs -q -t ext4 "$1"`, "sh", data).CombinedOutput(); err != nil {
		failing.With("data disk: %v: %s", err, out)
	}
	return func(ctx context.Context, n int) time.Duration {
		socket := filepath.Join(directory, "s")
		listener := failing.Must(net.Listen("unix", socket))
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
		failing.If(cmd.Start())
		conn := failing.Must(listener.Accept())
		_, err := conn.Read(make([]byte, 1))
		took := time.Since(began)
		// The guest can be killed: its disks are snapshots.
		if killed := cmd.Process.Kill(); err == nil {
			err = killed
		}
		_ = cmd.Wait()
		conn.Close()
		if err != nil {
			failing.With("qemu by hand: %w", err)
		}
		return took
	}
}
