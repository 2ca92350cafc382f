package cleanup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"

	"tare/internal/linux/cgroup"
)

// Sweeper removes what dead owners of one technology left, as declared in
// environment.Registration.
type Sweeper = func(ctx context.Context, home string, dead func(id string) bool) ([]string, error)

// Sweep removes what the dead owners of a home left behind: what the sweepers
// know of, then recorded processes, cgroups, mounts, loop devices and folders.
// It returns a line for each thing that it removed. Living owners, other homes
// and whatever does not carry tare's label are not touched. What resists is in
// the error, and the rest is removed all the same.
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
			unlock(lock)
		}
	}()

	var removed []string
	var problems []error
	dead := func(id string) bool { return claimed[id] != nil || Dead(home, id) }
	for _, sweep := range sweepers {
		lines, err := sweep(ctx, home, dead)
		removed, problems = append(removed, lines...), append(problems, err)
	}
	lonely, err := groupsWithoutFolder(home)
	problems = append(problems, err)
	for _, id := range lonely {
		lines, err := clearCgroup(ctx, id)
		removed, problems = append(removed, lines...), append(problems, err)
	}
	for id := range claimed {
		bound, cancel := context.WithTimeout(ctx, closing)
		lines, err := clearOwner(bound, folderOf(home, id), id)
		cancel()
		removed, problems = append(removed, lines...), append(problems, err)
		if err == nil {
			removed = append(removed, "folder "+folderOf(home, id))
		}
	}
	slices.Sort(removed)
	return removed, errors.Join(problems...)
}

// claim takes the locks of all dead owners, so that no other sweep touches
// them. It may have them only while nobody is opening an owner.
func claim(home string) (map[string]*os.File, error) {
	release, err := holdWork(home)
	if err != nil {
		return nil, err
	}
	defer release()
	// Nobody is opening an owner now: what is unborn died before its birth.
	unborn, _ := filepath.Glob(filepath.Join(workOf(home), unbornPrefix+"*"))
	for _, folder := range unborn {
		os.RemoveAll(folder)
	}
	ids, err := list(home)
	if err != nil {
		return nil, err
	}
	claimed := map[string]*os.File{}
	for _, id := range ids {
		if lock, err := tryLock(folderOf(home, id)); err == nil {
			claimed[id] = lock
		} else if errors.Is(err, fs.ErrNotExist) {
			os.Remove(folderOf(home, id)) // all but the empty folder was removed
		} else if !errors.Is(err, unix.EWOULDBLOCK) {
			return claimed, fmt.Errorf("looking whether owner %s lives: %w", id, err)
		}
	}
	return claimed, nil
}

// clearOwner removes all that an owner had on this machine, its folder last and
// only when nothing below it is mounted any more.
func clearOwner(ctx context.Context, folder, id string) (removed []string, err error) {
	var problems []error
	for _, step := range []func() ([]string, error){
		func() ([]string, error) { return killRecorded(ctx, folder) },
		func() ([]string, error) { return clearCgroup(ctx, id) },
		func() ([]string, error) { return unmountBelow(folder) },
		func() ([]string, error) { return detachBelow(folder) },
	} {
		lines, err := step()
		removed, problems = append(removed, lines...), append(problems, err)
	}
	if err := errors.Join(problems...); err != nil {
		return removed, fmt.Errorf("clearing owner %s, whose folder %s stays: %w", id, folder, err)
	}
	if err := removeFolder(folder); err != nil {
		return removed, fmt.Errorf("clearing owner %s: %w", id, err)
	}
	return removed, nil
}

// removeFolder removes the lock last: a removal that is cut short is a dead
// owner still.
func removeFolder(folder string) error {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != lockFile {
			if err := os.RemoveAll(filepath.Join(folder, e.Name())); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(folder)
}

func clearCgroup(ctx context.Context, id string) (removed []string, err error) {
	if cgroup.Mode() == "" {
		return nil, nil
	}
	group, err := cgroup.At(CgroupRoot + "/" + id)
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
	// The common root goes with its last group; while it has others it resists.
	if root, err := cgroup.At(CgroupRoot); err == nil {
		root.RemoveEmpty()
	}
	return removed, nil
}

// groupsWithoutFolder finds groups of this home whose owner's folder somebody
// deleted by hand.
func groupsWithoutFolder(home string) ([]string, error) {
	root, err := cgroup.At(CgroupRoot)
	if err != nil {
		return nil, nil // no cgroups at all on this machine
	}
	children, err := root.Children()
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(children, func(name string) bool {
		if !isID(home, name) {
			return true
		}
		_, err := os.Lstat(folderOf(home, name))
		return !errors.Is(err, fs.ErrNotExist)
	}), nil
}

func unmountBelow(folder string) (removed []string, err error) {
	mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return !below(m.Mountpoint, folder), false })
	if err != nil {
		return nil, fmt.Errorf("listing the mounts below %s: %w", folder, err)
	}
	// A mount stands in the table after the one that it is mounted on.
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

func below(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

func detachBelow(folder string) (removed []string, err error) {
	files, _ := filepath.Glob("/sys/block/loop*/loop/backing_file")
	var problems []error
	for _, file := range files {
		backing, err := os.ReadFile(file)
		if err != nil || !below(strings.TrimSpace(string(backing)), folder) {
			continue
		}
		device := "/dev/" + strings.Split(file, "/")[3]
		if err := detach(device); err != nil {
			problems = append(problems, fmt.Errorf("detaching %s from %s: %w", device, strings.TrimSpace(string(backing)), err))
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
	// ENXIO: it detached itself when its mount went.
	if err := unix.IoctlSetInt(int(f.Fd()), unix.LOOP_CLR_FD, 0); err != nil && !errors.Is(err, unix.ENXIO) {
		return err
	}
	return nil
}
