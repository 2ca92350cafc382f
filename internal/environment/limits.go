package environment

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"

	"tare/internal/agent"
	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/internal/linux/cgroup"
	"tare/internal/linux/fsinfo"
)

// Limits have the same meaning in every environment. The zero value of each is no limit.
type Limits struct {
	CPUs   float64        `yaml:"cpus" json:"cpus,omitempty"`     // quota, in cores
	Memory quantity.Bytes `yaml:"memory" json:"memory,omitempty"` // swap is always off
	PIDs   int            `yaml:"pids" json:"pids,omitempty"`
	// Cores is the set of host cores that the whole environment may use (a
	// cpuset); a VM's vCPU threads are pinned to them one by one.
	Cores []int `yaml:"cores" json:"cores,omitempty"`
	IO    IO    `yaml:"io" json:"io,omitzero"`
}

// IO limits the rate of I/O on the disk that /data is on, per second. The zero value of
// each is no limit.
type IO struct {
	Read     quantity.Bytes `yaml:"read" json:"read,omitempty"`
	Write    quantity.Bytes `yaml:"write" json:"write,omitempty"`
	ReadOps  int            `yaml:"read_ops" json:"read_ops,omitempty"`
	WriteOps int            `yaml:"write_ops" json:"write_ops,omitempty"`
}

// Validate checks the limits.
func (io *IO) Validate() error {
	var wrong []error
	for _, v := range []struct {
		key string
		n   int64
	}{{"read", int64(io.Read)}, {"write", int64(io.Write)}, {"read_ops", int64(io.ReadOps)}, {"write_ops", int64(io.WriteOps)}} {
		if v.n < 0 {
			wrong = append(wrong, strictyaml.AtKey(v.key, "must not be negative"))
		}
	}
	return errors.Join(wrong...)
}

// None reports whether nothing is limited.
func (io IO) None() bool { return io == IO{} }

// Memory stands for a /data without a disk: in Paths.DataOn, and for the directory that
// Group takes.
const Memory = "memory"

// ErrMemoryIO refuses limits of IO where /data lies in memory.
var ErrMemoryIO = errors.New("limits: io: /data is in memory (data: tmpfs), where a limit of a disk has no effect; use data: bind, or remove io")

// Group converts the limits for a cgroup; directory is on the disk that the limits of IO are
// for, or is Memory.
func (l Limits) Group(directory string) (cgroup.Limits, error) {
	g := l.group("")
	if l.IO.None() {
		return g, nil
	}
	if directory == Memory {
		return g, ErrMemoryIO
	}
	disk, err := fsinfo.DiskBelow(directory)
	if err != nil {
		return g, fmt.Errorf("limiting io: %w; put tare's home ($TARE_HOME) on a disk, or remove limits: io:", err)
	}
	g.IO.Device = disk
	return g, nil
}

// PassedByKata refuses limits that Kata Containers does not pass on to its guest
// (kata-containers, src/runtime/virtcontainers/kata_agent.go, constrainGRPCSpec).
func (l Limits) PassedByKata() error {
	const why = "Kata Containers passes only limits of CPUs and memory on to its guest: remove it"
	switch {
	case l.PIDs > 0:
		return errors.New("limits: pids: " + why)
	case !l.IO.None():
		return errors.New("limits: io: " + why)
	}
	return nil
}

// scarce is the number of processes and threads below which the programs that start an
// instance can fail: those written in Go have a dozen threads each, and gVisor has more.
const scarce = 40

// ProcessLimitHint is the end of the error message of a failed start where the limit of processes
// can be the cause; else "".
func (l Limits) ProcessLimitHint() string {
	if l.PIDs <= 0 || l.PIDs >= scarce {
		return ""
	}
	return fmt.Sprintf("; limits: pids: %d can be too few processes and threads for the start: increase or remove it", l.PIDs)
}

func (l Limits) group(disk string) cgroup.Limits {
	return cgroup.Limits{
		CPUs: l.CPUs, Memory: l.Memory, PIDs: l.PIDs, Cores: l.Cores,
		IO: cgroup.Throttle{Device: disk, Read: l.IO.Read, Write: l.IO.Write, ReadOps: l.IO.ReadOps, WriteOps: l.IO.WriteOps},
	}
}

// EffectiveLimit is what was observed of one limit at one position.
type EffectiveLimit = cgroup.EffectiveLimit

// Given are the limits that an instance was given.
type Given struct {
	Instance Instance
	Limits   Limits
}

// LimitsError is the error for limits that are not in force.
type LimitsError struct{ Limits []EffectiveLimit }

func (e *LimitsError) Error() string {
	text := "a limit did not take effect"
	for _, s := range e.Limits {
		text += "; " + s.String()
	}
	return text
}

// CheckLimits checks from inside and outside whether each limit is in force. The error is
// a LimitsError where one is not. It returns everything that was observed.
//
// In an instance that shares this machine's kernel each limit must be visible wherever it
// can be read. An instance with a separate kernel (a guest, gVisor) is limited from
// outside; its kernel counts only for memory and the number of processes, and for all
// limits if it runs on another machine, or if its runtime sets them there.
func CheckLimits(ctx context.Context, i Instance, l Limits) ([]EffectiveLimit, error) {
	if len(l.group("").Requested()) == 0 {
		return nil, nil
	}
	about := i.Details()
	if about.Unlimited {
		return nil, nil
	}
	if about.Given != nil {
		return checkEach(ctx, about.Given(l))
	}
	if !l.IO.None() && i.Paths().DataOn == Memory {
		return nil, ErrMemoryIO
	}
	in := inside{ctx, i.Agent()}
	shared := !about.SeparateKernel && in.sharesThisKernel()
	disk := ""
	if shared && !l.IO.None() {
		disk = in.disk("/data")
	}
	asked := l.group(disk)
	outer := outside(i, asked)
	if about.EffectiveLimits != nil {
		own, err := about.EffectiveLimits(ctx, l)
		if err != nil {
			return nil, fmt.Errorf("reading the limits of the instance: %w", err)
		}
		outer = append(outer, own...)
	}
	inner := in.group(asked)
	if len(l.Cores) > 0 {
		inner = append(inner, in.affinity(l.Cores))
	}
	// A limit that is absent inside was not observed.
	inner = slices.DeleteFunc(inner, func(s EffectiveLimit) bool { return strings.HasPrefix(s.Seen, "nothing") })
	if !shared {
		inner = slices.DeleteFunc(inner, func(s EffectiveLimit) bool { return s.Limit == "io" && len(outer) > 0 })
		inner = append(inner, in.machine(i.Agent().Hello(), l)...)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := i.Agent().Err(); err != nil {
		return nil, fmt.Errorf("reading the limits inside: %w", err)
	}
	all := append(slices.Clone(inner), outer...)
	var failed []EffectiveLimit
	for _, s := range wanted(asked, all) {
		failed = append(failed, decide(s, shared, about.LimitedInside, inner, outer)...)
	}
	if len(failed) > 0 {
		return all, &LimitsError{failed}
	}
	return all, nil
}

func checkEach(ctx context.Context, all []Given) (limits []EffectiveLimit, err error) {
	var failed []EffectiveLimit
	for _, g := range all {
		seen, err := CheckLimits(ctx, g.Instance, g.Limits)
		var not *LimitsError
		if errors.As(err, &not) {
			failed = append(failed, not.Limits...)
		} else if err != nil {
			return nil, err
		}
		limits = append(limits, seen...)
	}
	if len(failed) > 0 {
		return limits, &LimitsError{failed}
	}
	return limits, nil
}

// wanted are the limits that must be observed somewhere: also the absence of swap, where
// it was observed and memory is limited.
func wanted(l cgroup.Limits, seen []EffectiveLimit) []EffectiveLimit {
	list := l.Requested()
	if l.Memory > 0 && slices.ContainsFunc(seen, func(s EffectiveLimit) bool { return s.Limit == "swap" }) {
		list = append(list, EffectiveLimit{Limit: "swap", Asked: "no swap"})
	}
	return list
}

// decide returns what was observed of a limit that is not in force; nil for one that
// is.
func decide(wish EffectiveLimit, shared, limitedInside bool, inner, outer []EffectiveLimit) []EffectiveLimit {
	same := func(s EffectiveLimit) bool { return s.Limit == wish.Limit && s.Asked == wish.Asked }
	in, out := pick(inner, same), pick(outer, same)
	fails := func(s EffectiveLimit) bool { return !s.Holds }
	switch {
	case len(in)+len(out) == 0:
		wish.Seen, wish.Where = "anything of it", "no cgroup of the instance, inside or outside,"
		return []EffectiveLimit{wish}
	case shared:
		return pick(append(in, out...), fails)
	case (wish.Limit == "cores" || wish.Limit == "cpus" && !limitedInside) && len(out) > 0:
		in = nil // what the guest's kernel reports limits nothing; its cores are not the host's
	}
	all := append(in, out...)
	if slices.ContainsFunc(all, func(s EffectiveLimit) bool { return s.Holds }) {
		return nil
	}
	return all
}

func pick(list []EffectiveLimit, which func(EffectiveLimit) bool) []EffectiveLimit {
	return lists.Filter(list, which)
}

// outside checks the cgroups of the instance's processes on this machine.
func outside(i Instance, asked cgroup.Limits) (limits []EffectiveLimit) {
	for _, path := range i.Footprint().Cgroups {
		if group, err := cgroup.At(path); err == nil {
			limits = append(limits, group.Check(asked)...)
		}
	}
	return limits
}

// inside reads files through the agent.
type inside struct {
	ctx   context.Context
	agent *agent.Client
}

func (in inside) read(file string) ([]byte, error) { return in.agent.ReadFile(in.ctx, file, 1<<20) }

func (in inside) text(file string) string {
	data, _ := in.read(file)
	return strings.TrimSpace(string(data))
}

// sharesThisKernel compares the boot ids.
func (in inside) sharesThisKernel() bool {
	const boot = "/proc/sys/kernel/random/boot_id"
	ours, err := os.ReadFile(boot)
	return err == nil && in.text(boot) == strings.TrimSpace(string(ours))
}

// group checks the agent's cgroup, where it is visible inside.
func (in inside) group(asked cgroup.Limits) []EffectiveLimit {
	tree, err := cgroup.Through(in.read)
	if err != nil {
		return nil // cgroups are not mounted inside
	}
	own, err := tree.Own()
	if err != nil {
		return nil
	}
	limits := own.Check(asked)
	for n := range limits {
		limits[n].Where += " inside"
	}
	return limits
}

// affinity checks the CPU affinity of the agent, which its children inherit.
func (in inside) affinity(cores []int) EffectiveLimit {
	s := EffectiveLimit{Limit: "cores", Asked: cgroup.FormatCores(cores), Where: "/proc/self/status inside", Seen: "nothing"}
	for line := range strings.Lines(in.text("/proc/self/status")) {
		if list, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			s.Seen = cgroup.FormatCores(cgroup.ParseCores(list))
		}
	}
	s.Holds = s.Seen == s.Asked
	return s
}

// machine checks what the instance's separate kernel reports of its machine.
func (in inside) machine(hello agent.Hello, l Limits) (limits []EffectiveLimit) {
	if l.CPUs > 0 {
		limits = append(limits, EffectiveLimit{Limit: "cpus", Asked: fmt.Sprintf("%g CPUs", l.CPUs),
			Where: "the machine inside", Seen: fmt.Sprintf("%d CPUs", hello.CPUs), Holds: float64(hello.CPUs) == l.CPUs})
	}
	if l.Memory > 0 {
		s := EffectiveLimit{Limit: "memory", Asked: l.Memory.String(), Where: "/proc/meminfo inside", Seen: "nothing"}
		for line := range strings.Lines(in.text("/proc/meminfo")) {
			if total, ok := strings.CutPrefix(line, "MemTotal:"); ok {
				kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(total), " kB"), 10, 64)
				has := quantity.Bytes(kib) * quantity.KiB
				// MemTotal is without what the kernel reserves: a fifth of a small machine.
				s.Seen, s.Holds = has.String(), has <= l.Memory && has >= l.Memory/2
			}
		}
		limits = append(limits, s)
		swaps := strings.Split(in.text("/proc/swaps"), "\n")
		if len(swaps) < 2 {
			limits = append(limits, EffectiveLimit{Limit: "swap", Asked: "no swap", Where: "/proc/swaps inside", Seen: "none", Holds: true})
		}
	}
	return limits
}

// disk is the whole disk that a directory inside is on, "" if its file system has
// none.
func (in inside) disk(directory string) string {
	mounts, err := mountinfo.GetMountsFromReader(bytes.NewReader([]byte(in.text("/proc/self/mountinfo"))), func(m *mountinfo.Info) (skip, stop bool) {
		point := strings.TrimSuffix(m.Mountpoint, "/")
		return directory != point && !strings.HasPrefix(directory, point+"/"), false
	})
	if err != nil {
		return ""
	}
	var at *mountinfo.Info
	for _, m := range mounts {
		if at == nil || len(m.Mountpoint) >= len(at.Mountpoint) {
			at = m
		}
	}
	if at == nil || at.Major == 0 {
		return ""
	}
	return fsinfo.WholeDisk(fmt.Sprintf("%d:%d", at.Major, at.Minor), "/sys")
}
