// Package userns runs commands as root of a user namespace of their own, as which a user
// without privileges mounts, changes owners and removes files of other mapped users.
//
// It must not know what the commands are for.
package userns

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/internal/linux/beneath"
)

// IDs maps users and groups of a namespace to those of this machine: 0 to the user who
// runs this process, and from 1 on those that /etc/subuid and /etc/subgid give that user.
type IDs struct {
	Users, Groups []Range
	Alone         string // why 0 is the only one; "" where there are others
}

// Range is a line of uid_map.
type Range struct{ Inside, Outside, Count int }

// mappers write a map with more than the user's own IDs.
var mappers = []string{"newuidmap", "newgidmap"}

// Own are the IDs of the user who runs this process.
func Own() IDs {
	uid, gid := os.Geteuid(), os.Getegid()
	ids := IDs{Users: []Range{{0, uid, 1}}, Groups: []Range{{0, gid, 1}}}
	names := []string{strconv.Itoa(uid)}
	if u, err := user.LookupId(names[0]); err == nil {
		names = append(names, u.Username)
	}
	for _, program := range mappers {
		if _, err := exec.LookPath(program); err != nil {
			ids.Alone = "the program " + program + " is not installed"
			return ids
		}
	}
	users, groups := subordinate("/etc/subuid", names), subordinate("/etc/subgid", names)
	switch {
	case len(users) == 0:
		ids.Alone = "/etc/subuid has no line for " + names[len(names)-1]
	case len(groups) == 0:
		ids.Alone = "/etc/subgid has no line for " + names[len(names)-1]
	default:
		ids.Users, ids.Groups = append(ids.Users, users...), append(ids.Groups, groups...)
	}
	return ids
}

// subordinate reads the ranges of a user, see subuid(5).
func subordinate(file string, names []string) (list []Range) {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	next := 1
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Split(strings.TrimSpace(lines.Text()), ":")
		if len(fields) != 3 || !slices.Contains(names, fields[0]) {
			continue
		}
		first, errF := strconv.Atoi(fields[1])
		count, errC := strconv.Atoi(fields[2])
		if errF == nil && errC == nil && count > 0 {
			list = append(list, Range{next, first, count})
			next += count
		}
	}
	return list
}

// String names the users of the map: what files that were made with it belong to.
func (ids IDs) String() string {
	var text []string
	for _, list := range [][]Range{ids.Users, ids.Groups} {
		for _, r := range list {
			text = append(text, fmt.Sprintf("%d-%d", r.Outside, r.Count))
		}
	}
	return strings.Join(text, "-")
}

// Start starts a command as root of a new user namespace. What the namespace has is its
// own: it ends with the command and what that started.
func Start(cmd *exec.Cmd, ids IDs) (err error) {
	if cmd.Err != nil {
		return cmd.Err // there is no such program
	}
	wait, proceed, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("making a pipe for a user namespace: %w", err)
	}
	defer wait.Close()
	defer proceed.Close()
	// The kernel gives a program the rights of root when it is executed as user 0. Until
	// there is a map it is nobody, so a shell waits for that.
	fd := 3 + len(cmd.ExtraFiles)
	argv := []string{"/bin/sh", "-c", fmt.Sprintf(`read -r mapped <&%d && exec "$@" %d<&-`, fd, fd), "sh"}
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	if s := cmd.SysProcAttr.Pdeathsig; s != 0 { // which the kernel forgets with the new rights
		argv = append(argv, "setpriv", "--pdeathsig", unix.SignalName(s))
	}
	cmd.Args = append(append(argv, cmd.Path), cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	cmd.ExtraFiles = append(cmd.ExtraFiles, wait)
	cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("making a user namespace: %w", err)
	}
	if err = ids.write(cmd.Process.Pid); err == nil {
		_, err = proceed.WriteString("\n")
	}
	if err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		return fmt.Errorf("mapping the users of a user namespace: %w", err)
	}
	return nil
}

// write gives the namespace of a process its maps.
func (ids IDs) write(pid int) error {
	directory := fmt.Sprintf("/proc/%d/", pid)
	if ids.Alone != "" {
		// Else a process could drop the membership of a group that is denied a file.
		err := os.WriteFile(directory+"setgroups", []byte("deny"), 0)
		if err == nil {
			err = os.WriteFile(directory+"gid_map", []byte(text(ids.Groups)), 0)
		}
		if err == nil {
			err = os.WriteFile(directory+"uid_map", []byte(text(ids.Users)), 0)
		}
		return err
	}
	for n, list := range [][]Range{ids.Users, ids.Groups} {
		argv := append([]string{strconv.Itoa(pid)}, strings.Fields(text(list))...)
		if output, err := exec.Command(mappers[n], argv...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s %s: %w: %s", mappers[n], strings.Join(argv, " "), err, strings.TrimSpace(string(output)))
		}
	}
	return nil
}

func text(list []Range) string {
	var lines strings.Builder
	for _, r := range list {
		fmt.Fprintf(&lines, "%d %d %d\n", r.Inside, r.Outside, r.Count)
	}
	return lines.String()
}

// Run runs a command as Start does, to its end, and returns its standard output. The
// error has what it printed to standard error. The command ends with this process.
func Run(cmd *exec.Cmd, ids IDs) (string, error) {
	var out, errs strings.Builder
	name := cmd.Args[0]
	cmd.Stdout, cmd.Stderr = &out, &errs
	// The signal comes when the thread ends that forked.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err := Start(cmd, ids)
	if err == nil {
		if err = cmd.Wait(); err != nil {
			err = fmt.Errorf("%s in a user namespace: %w: %s", name, err, strings.TrimSpace(errs.String()))
		}
	}
	return out.String(), err
}

// RemoveAll removes a tree, also what other users of the map left in it.
func RemoveAll(path string) error {
	err := beneath.RemoveAll(path)
	if err == nil || !errors.Is(err, fs.ErrPermission) || os.Geteuid() == 0 {
		return err
	}
	if _, inside := Run(exec.Command("rm", "-rf", "--one-file-system", "--", path), Own()); inside != nil {
		return errors.Join(err, inside)
	}
	return nil
}

// Check makes a user namespace and mounts in it.
func Check(ids IDs) error {
	// Private mounts are what `unshare --mount` asks for. A security module that makes a
	// namespace worthless (Ubuntu's AppArmor) refuses them.
	_, err := Run(exec.Command("unshare", "--mount", "true"), ids)
	return err
}

// Forbidden is the setting that allows user namespaces on a machine that forbids them to
// ordinary users: "user.max_user_namespaces=10000"; "" where none forbids them.
func Forbidden() string {
	for _, setting := range []struct{ name, forbids, allows string }{
		{"kernel.apparmor_restrict_unprivileged_userns", "1", "0"}, // Ubuntu
		{"kernel.unprivileged_userns_clone", "0", "1"},             // Debian
		{"user.max_user_namespaces", "0", "10000"},
	} {
		text, err := os.ReadFile("/proc/sys/" + strings.ReplaceAll(setting.name, ".", "/"))
		if err == nil && strings.TrimSpace(string(text)) == setting.forbids {
			return setting.name + "=" + setting.allows
		}
	}
	return ""
}
