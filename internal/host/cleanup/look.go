package cleanup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/moby/sys/mountinfo"

	"tare/internal/base/lists"
	"tare/internal/linux/cgroup"
)

// Look returns what Sweep would remove, a line for each, and removes nothing. A sweeper
// hears that every owner is alive, and so keeps what it has; a line says of which dead
// owners that is.
func Look(ctx context.Context, home string, sweepers map[string]Sweeper) (found []string, err error) {
	home, err = canonical(home)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	ids, err := list(home)
	if err != nil {
		return nil, err
	}
	var problems []error
	orphaned, err := orphanedCgroups(home)
	problems = append(problems, err)
	for _, id := range orphaned {
		found = append(found, inCgroup(id, nil)...)
	}
	for _, id := range slices.DeleteFunc(ids, func(id string) bool { return !Dead(home, id) }) {
		dir := dirOf(home, id)
		all, err := recordedIn(dir)
		problems = append(problems, err)
		running := lists.Filter(all, recorded.runs)
		found = slices.Concat(found, lists.Map(running, recorded.String), inCgroup(id, running), []string{"directory " + dir})
		mounts, err := mountinfo.GetMounts(func(m *mountinfo.Info) (skip, stop bool) { return !below(m.Mountpoint, dir), false })
		problems = append(problems, err)
		for _, m := range mounts {
			found = append(found, "mount "+m.Mountpoint)
		}
		for _, device := range devicesBelow(dir) {
			found = append(found, "loop device "+device)
		}
	}
	for kind, sweep := range sweepers {
		owners := map[string]bool{}
		_, err := sweep(ctx, home, func(id string) bool {
			if Dead(home, id) && !owners[id] {
				owners[id] = true
				found = append(found, fmt.Sprintf("what %s has of the dead process %s", kind, id))
			}
			return false
		})
		problems = append(problems, err)
	}
	slices.Sort(found)
	return found, errors.Join(problems...)
}

// inCgroup are the processes of an owner's cgroup, but for the recorded ones, and the
// cgroups of its instances.
func inCgroup(id string, known []recorded) (lines []string) {
	if cgroup.Mode() == "" {
		return nil
	}
	group, err := cgroup.At(CgroupRoot() + "/" + id)
	if err != nil || !group.Exists() {
		return nil
	}
	pids, _ := group.PIDs() // what cannot be read is gone
	for _, pid := range pids {
		if !slices.ContainsFunc(known, func(r recorded) bool { return r.pid == pid }) {
			lines = append(lines, fmt.Sprintf("process %d in cgroup %s", pid, group.Path()))
		}
	}
	instances, _ := group.Children()
	for _, name := range instances {
		lines = append(lines, "cgroup "+group.Path()+"/"+name)
	}
	return lines
}
