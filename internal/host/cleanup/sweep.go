package cleanup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"tare/internal/linux/cgroup"
	"tare/internal/linux/procfile"
	"tare/internal/linux/userns"
)

// Sweeper removes the resources of dead owners that one kind of environment keeps
// elsewhere. It returns a line for each. See environment.Registration.
type Sweeper = func(ctx context.Context, home string, dead func(id string) bool) ([]string, error)

// Sweep removes the resources of dead owners of a home: those that the sweepers
// find, then recorded processes, cgroups, mounts, loop devices and directories.
// It returns a line for each removed resource. Resources of live owners, of other
// homes, and those without tare's label are not touched. Resources that cannot be
// removed are in the error; all others are removed nevertheless.
func Sweep(ctx context.Context, home string, sweepers ...Sweeper) ([]string, error) {
	home, err := canonical(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	claimed, err := claim(home)
	if err != nil {
		return nil, err
	}
	defer func() {
		for _, lock := range claimed {
			_ = unlock(lock)
		}
	}()

	var removed []string
	var problems []error
	dead := func(id string) bool { return claimed[id] != nil || Dead(home, id) }
	orphaned, err := orphanedCgroups(home)
	problems = append(problems, err)
	// Sweepers ask instances to end, which frozen ones cannot.
	for _, id := range slices.AppendSeq(slices.Clone(orphaned), maps.Keys(claimed)) {
		problems = append(problems, thaw(id))
	}
	for _, sweep := range sweepers {
		lines, err := sweep(ctx, home, dead)
		removed, problems = append(removed, lines...), append(problems, err)
	}
	for _, id := range orphaned {
		lines, err := clearCgroup(ctx, id)
		removed, problems = append(removed, lines...), append(problems, err)
	}
	for id := range claimed {
		ctx, cancel := context.WithTimeout(ctx, killTimeout)
		lines, err := clearOwner(ctx, dirOf(home, id), id)
		cancel()
		removed, problems = append(removed, lines...), append(problems, err)
		if err == nil {
			removed = append(removed, "directory "+dirOf(home, id))
		}
	}
	slices.Sort(removed)
	return removed, errors.Join(problems...)
}

// Noted returns what is in the files with a name that the instances of a home's owners have.
// The home may have any name.
func Noted(home, name string) (list []string) {
	files := os.DirFS(workOf(home))
	paths, _ := fs.Glob(files, "*/*/"+name)
	for _, path := range paths {
		if text, err := fs.ReadFile(files, path); err == nil {
			list = append(list, string(text))
		}
	}
	return list
}

// claim takes the locks of all dead owners, so that no other sweep handles them.
// It holds the work lock, under which owners are opened.
func claim(home string) (map[string]*os.File, error) {
	release, err := lockWork(home)
	if err != nil {
		return nil, err
	}
	defer release()
	// No owner is being opened now, so these are of processes that died in Open.
	stale, _ := fs.Glob(os.DirFS(workOf(home)), newPrefix+"*")
	for _, dir := range stale {
		os.RemoveAll(filepath.Join(workOf(home), dir))
	}
	ids, err := list(home)
	if err != nil {
		return nil, err
	}
	claimed := map[string]*os.File{}
	for _, id := range ids {
		if lock, err := tryLock(dirOf(home, id)); err == nil {
			claimed[id] = lock
		} else if errors.Is(err, fs.ErrNotExist) {
			os.Remove(dirOf(home, id)) // only the empty directory was left
		} else if !errors.Is(err, unix.EWOULDBLOCK) {
			return claimed, fmt.Errorf("checking whether owner %s is alive: %w", id, err)
		}
	}
	return claimed, nil
}

// clearOwner removes all resources of an owner on this host. It removes the
// directory last, and only if nothing is mounted below it.
func clearOwner(ctx context.Context, dir, id string) (removed []string, err error) {
	var problems []error
	for _, step := range []func() ([]string, error){
		func() ([]string, error) { return nil, thaw(id) }, // cgroup v1 delays SIGKILL until the thaw
		func() ([]string, error) { return killRecorded(ctx, dir) },
		func() ([]string, error) { return clearCgroup(ctx, id) },
		func() ([]string, error) { return unmountBelow(dir) },
		func() ([]string, error) { return detachBelow(dir) },
	} {
		lines, err := step()
		removed, problems = append(removed, lines...), append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return removed, fmt.Errorf("removing the resources of owner %s, whose directory %s is kept: %w", id, dir, err)
	}
	if err := removeDir(dir); err != nil {
		return removed, fmt.Errorf("removing the directory of owner %s: %w", id, err)
	}
	return removed, nil
}

// removeDir removes the lock last, so that after an interrupted removal the owner
// is still found as dead.
func removeDir(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != lockFile {
			if err := userns.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(dir)
}

// thaw thaws the owner's instances that were frozen in their cgroups.
func thaw(id string) error {
	if cgroup.Mode() == "" {
		return nil
	}
	group, err := cgroup.At(CgroupRoot() + "/" + id)
	if err != nil {
		return err
	}
	return group.Thaw()
}

func clearCgroup(ctx context.Context, id string) (removed []string, err error) {
	if cgroup.Mode() == "" {
		return nil, nil
	}
	group, err := cgroup.At(CgroupRoot() + "/" + id)
	if err != nil || !group.Exists() {
		return nil, err
	}
	pids, err := group.PIDs()
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		removed = append(removed, fmt.Sprintf("process %d in cgroup %s", pid, group.Path()))
	}
	instances, err := group.Children()
	if err != nil {
		return nil, err
	}
	for _, name := range instances {
		removed = append(removed, "cgroup "+group.Path()+"/"+name)
	}
	if err := group.Kill(ctx); err != nil {
		return nil, err
	}
	if err := group.Remove(); err != nil {
		return removed, err
	}
	// The common root is removed with its last child; with others it is not empty.
	if root, err := cgroup.At(CgroupRoot()); err == nil {
		root.RemoveEmpty()
	}
	return removed, nil
}

// orphanedCgroups finds cgroups of this home whose owner's directory was deleted
// by hand.
func orphanedCgroups(home string) ([]string, error) {
	root, err := cgroup.At(CgroupRoot())
	if err != nil {
		return nil, nil // this host has no cgroups
	}
	children, err := root.Children()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(children, func(name string) bool {
		if !isID(home, name) {
			return true
		}
		_, err := os.Lstat(dirOf(home, name))
		return !errors.Is(err, fs.ErrNotExist)
	}), nil
}

func unmountBelow(dir string) (removed []string, err error) {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return !below(m.Mountpoint, dir), false })
	if err != nil {
		return nil, fmt.Errorf("listing the mounts below %s: %w", dir, err)
	}
	// mountinfo lists a mount after the one that it is mounted on.
	slices.Reverse(mounts)
	var problems []error
	for _, m := range mounts {
		err := unix.Unmount(m.Mountpoint, unix.UMOUNT_NOFOLLOW)
		if errors.Is(err, unix.EBUSY) {
			err = unix.Unmount(m.Mountpoint, unix.UMOUNT_NOFOLLOW|unix.MNT_DETACH)
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("unmounting %s: %w", m.Mountpoint, err))
			continue
		}
		removed = append(removed, "mount "+m.Mountpoint)
	}
	return removed, errors.Join(problems...)
}

func below(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// devicesBelow are the loop devices on files below a directory.
func devicesBelow(dir string) (devices []string) {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	for _, file := range files {
		if backing, err := os.ReadFile(file); err == nil && below(strings.TrimSpace(string(backing)), dir) {
			devices = append(devices, "/dev/"+strings.Split(file, "/")[3])
		}
	}
	return devices
}

func detachBelow(dir string) (removed []string, err error) {
	var problems []error
	for _, device := range devicesBelow(dir) {
		if err := detach(device); err != nil {
			problems = append(problems, fmt.Errorf("detaching %s from a file below %s: %w", device, dir, err))
			continue
		}
		removed = append(removed, "loop device "+device)
	}
	return removed, errors.Join(problems...)
}

func detach(device string) error {
	f, err := os.OpenFile(device, os.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	// ENXIO: it was detached with its last mount (autoclear).
	if err := unix.IoctlSetInt(int(f.Fd()), unix.LOOP_CLR_FD, 0); err != nil && !errors.Is(err, unix.ENXIO) {
		return err
	}
	return nil
}

// A recorded process is a file named by its PID that has its start time and its
// role.

func record(dir string, pid int, role string) (file string, err error) {
	start, err := startTime(pid)
	if err != nil {
		return "", err
	}
	dir = filepath.Join(dir, processDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	file = filepath.Join(dir, strconv.Itoa(pid))
	return file, os.WriteFile(file, []byte(start+" "+role+"\n"), 0o644)
}

// startTime returns the start time of a process. PID and start time identify it until the
// next boot.
func startTime(pid int) (string, error) {
	fields := procfile.Stat(pid)
	if len(fields) <= procfile.StatStart {
		return "", fmt.Errorf("/proc/%d/stat: %w", pid, fs.ErrNotExist)
	}
	return fields[procfile.StatStart], nil
}

// recorded is a process that an owner recorded.
type recorded struct {
	pid         int
	start, role string
}

// recordedIn reads what is recorded in the directory of an owner.
func recordedIn(dir string) (all []recorded, err error) {
	entries, err := os.ReadDir(filepath.Join(dir, processDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, processDir, e.Name()))
		if err != nil {
			continue // its owner released it
		}
		start, role, _ := strings.Cut(strings.TrimSpace(string(data)), " ")
		all = append(all, recorded{pid, start, role})
	}
	return all, nil
}

// runs reports whether the process that was recorded is still running.
func (r recorded) runs() bool {
	now, err := startTime(r.pid)
	return err == nil && now == r.start
}

func (r recorded) String() string { return fmt.Sprintf("process %d (%s)", r.pid, r.role) }

// killRecorded kills the recorded processes that are still running.
func killRecorded(ctx context.Context, dir string) (removed []string, err error) {
	all, err := recordedIn(dir)
	if err != nil {
		return nil, err
	}
	var problems []error
	for _, r := range all {
		killed, err := procfile.Kill(ctx, r.pid, r.runs)
		if err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", r, err))
		} else if killed {
			removed = append(removed, r.String())
		}
	}
	return removed, errors.Join(problems...)
}
