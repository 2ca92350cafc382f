package childprocess

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"tare/internal/environment"
	"tare/internal/linux/cgroup"
)

// Requires lists what a child process with its own cgroup and root needs.
func Requires() []environment.Requirement {
	list := []environment.Requirement{
		{What: "root, with the capability to mount", Check: checkRoot},
		{What: "a writable cgroup hierarchy", Check: checkCgroups},
	}
	return append(list, controllers(checkController)...)
}

// Subtree lists what a child process with its own cgroup needs where tare is not root: a
// part of the cgroups that is its own.
func Subtree() []environment.Requirement {
	list := []environment.Requirement{{What: "a delegated cgroup subtree", Check: checkSubtree}}
	return append(list, controllers(checkDelegated)...)
}

func controllers(check func(controller, limit string) environment.Finding) (list []environment.Requirement) {
	for _, c := range []struct{ controller, limit string }{
		{"cpu", "CPUs"}, {"memory", "memory"}, {"cpuset", "cores"}, {"pids", "processes"}, {"io", "io"},
	} {
		list = append(list, environment.Requirement{
			What:  "the cgroup controller " + c.controller,
			Check: func(context.Context) environment.Finding { return check(c.controller, c.limit) },
		})
	}
	return list
}

// tried counts, since several kinds are checked at once.
var tried atomic.Int64

// tryGroup makes a group and has a process join it, since rights alone do not tell whether
// one can.
func tryGroup(tree *cgroup.Tree) (err error) {
	g, err := tree.Create(fmt.Sprintf("%s/tare-try-%d-%d", strings.TrimSuffix(tree.Top(), "/"), os.Getpid(), tried.Add(1)), cgroup.Limits{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.Remove()) }()
	command := InCgroup(g.ProcsFiles(), "/bin/sh", "-c", ":")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("a process cannot join cgroup %s: %w: %s", g.Path(), err, bytes.TrimSpace(output))
	}
	return nil
}

// mountHierarchy is for a machine without any.
var mountHierarchy = environment.Run("mount -t cgroup2 none /sys/fs/cgroup")

func checkSubtree(context.Context) environment.Finding {
	missing := environment.Lacks("", environment.AsRoot("systemd-run --user --scope -p Delegate=yes tare ..., or run tare as root (sudo)"))
	tree, err := cgroup.Host()
	if err != nil {
		return environment.Lacks(err.Error(), mountHierarchy)
	}
	if err := tree.Writable(); err != nil {
		missing.Reason = err.Error()
		if tree.Mode() == "v1" {
			missing.Fix = environment.AsRoot("run tare as root (sudo): cgroup v1 delegates nothing, and there is no v2 hierarchy")
		}
		return missing
	}
	if err := tryGroup(tree); err != nil {
		missing.Reason = err.Error()
		return missing
	}
	usable := environment.Finding{State: environment.Usable, Reason: "cgroup " + tree.Mode()}
	if top, _ := tree.Delegated(); top != "" {
		usable.Reason += ", below " + top
	}
	return usable
}

func checkDelegated(controller, limit string) environment.Finding {
	tree, err := cgroup.Host()
	if err != nil {
		return environment.Lacks(err.Error(), mountHierarchy)
	}
	top, there := tree.Delegated()
	if top == "" {
		there = tree.Controllers()
	}
	if slices.Contains(there, controller) {
		return environment.Finding{State: environment.Usable}
	}
	found := environment.Finding{
		State:  environment.Caveat,
		Reason: fmt.Sprintf("it is not delegated to this user, so a trial with a limit of %s fails", limit),
		Fix: environment.AsRoot("printf '[Service]\\nDelegate=cpu cpuset io memory pids\\n' | sudo install -D /dev/stdin /etc/systemd/system/user@.service.d/delegate.conf, " +
			"sudo systemctl daemon-reload, and log in again; or run tare as root (sudo)"),
	}
	if tree.Mode() != "v2" {
		found.Fix = environment.AsRoot("boot with systemd.unified_cgroup_hierarchy=1, or run tare as root (sudo): cgroup v1 delegates no controller")
	}
	return found
}

func checkRoot(context.Context) environment.Finding {
	missing := environment.Lacks("", environment.AsRoot(""))
	if uid := unix.Geteuid(); uid != 0 {
		missing.Reason = fmt.Sprintf("this process runs as user %d", uid)
		return missing
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var held [2]unix.CapUserData
	if err := unix.Capget(&header, &held[0]); err != nil {
		missing.Reason = fmt.Sprintf("capget: %v", err)
		return missing
	}
	for name, bit := range map[string]int{"CAP_SYS_ADMIN": unix.CAP_SYS_ADMIN, "CAP_SYS_CHROOT": unix.CAP_SYS_CHROOT} {
		if held[0].Effective&(1<<bit) == 0 {
			missing.Reason = "root lacks " + name
			missing.Fix = environment.Advice("run tare outside of this container, or start it with --privileged")
			return missing
		}
	}
	if !rootMounted("/") {
		return environment.Lacks("the root directory of this process is no mount point, as in a chroot: its mounts cannot be made private",
			environment.Advice("mount --bind ROOT ROOT before chroot ROOT"))
	}
	return environment.Finding{State: environment.Usable}
}

// rootMounted says whether something is mounted at a directory; also where the kernel does
// not tell, as before Linux 5.8.
func rootMounted(directory string) bool {
	var s unix.Statx_t
	err := unix.Statx(unix.AT_FDCWD, directory, 0, 0, &s)
	return err != nil || s.Attributes_mask&unix.STATX_ATTR_MOUNT_ROOT == 0 || s.Attributes&unix.STATX_ATTR_MOUNT_ROOT != 0
}

func checkCgroups(context.Context) environment.Finding {
	tree, err := cgroup.Host()
	if err != nil {
		return environment.Lacks(err.Error(), mountHierarchy)
	}
	if err := tree.Writable(); err != nil {
		return environment.Lacks(err.Error(), environment.Run("mount -o remount,rw /sys/fs/cgroup"))
	}
	if err := tryGroup(tree); err != nil {
		return environment.Lacks(err.Error(), environment.Advice("run tare on the host, or where it may make cgroups and move processes into them"))
	}
	return environment.Finding{State: environment.Usable, Reason: "cgroup " + tree.Mode()}
}

func checkController(controller, limit string) environment.Finding {
	tree, err := cgroup.Host()
	if err != nil {
		return environment.Lacks(err.Error(), mountHierarchy)
	}
	for _, c := range tree.Controllers() {
		if c == controller {
			return environment.Finding{State: environment.Usable}
		}
	}
	return environment.Finding{
		State:  environment.Caveat,
		Reason: fmt.Sprintf("the kernel offers %s, so a trial with a limit of %s fails", strings.Join(tree.Controllers(), ", "), limit),
		Fix:    environment.Advice(fmt.Sprintf("add cgroup_enable=%s to the kernel's command line and restart the machine", controller)),
	}
}
