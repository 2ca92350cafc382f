// Command fakejailer is a test double of Firecracker's jailer: it checks its arguments
// as a real one did (testdata/recorded.json), makes the jail's directory and runs the
// program there, without a chroot, devices or another user: QEMU, which emulates the
// guest of Firecracker's double, would not be found in the jail.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"tare/internal/testing/fakevmm"
)

func main() {
	if err := jail(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// The arguments, which all take a value, and those of them that are required.
var (
	known    = []string{"id", "exec-file", "uid", "gid", "chroot-base-dir", "netns", "cgroup", "resource-limit", "cgroup-version", "parent-cgroup"}
	required = []string{"exec-file", "gid", "id", "uid"} // in the order of their names
)

// parse returns the values of the arguments, and those of the program.
func parse(args []string) (values map[string]string, rest []string, err error) {
	values = map[string]string{"chroot-base-dir": "/srv/jailer"}
	if at := slices.Index(args, "--"); at >= 0 {
		args, rest = args[:at], args[at+1:]
	}
	for len(args) > 0 {
		name, dashes := strings.CutPrefix(args[0], "--")
		if !dashes || !slices.Contains(known, name) {
			return nil, nil, fmt.Errorf("Failed to parse arguments: Found argument '%s' which wasn't expected, or isn't valid in this context.", name)
		}
		if len(args) == 1 {
			return nil, nil, fmt.Errorf("Failed to parse arguments: The argument '%s' requires a value, but none was supplied.", name)
		}
		values[name], args = args[1], args[2:]
	}
	for _, name := range required {
		if values[name] == "" {
			return nil, nil, fmt.Errorf("Failed to parse arguments: Argument '%s' required, but not found.", name)
		}
	}
	return values, rest, nil
}

// canonical resolves the links of a path.
func canonical(path string) (string, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("Failed to canonicalize path %s: %s", path, fakevmm.SystemError(err))
	}
	return filepath.Abs(resolved)
}

// jail makes the jail and becomes the program.
func jail(args []string) error {
	values, rest, err := parse(args)
	if err != nil {
		return err
	}
	id := values["id"]
	if longest := 64; len(id) > longest {
		return fmt.Errorf("Invalid instance ID: Invalid len (%d);  the length must be between 1 and %d", len(id), longest)
	}
	for at, r := range id {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-", r) {
			return fmt.Errorf("Invalid instance ID: Invalid char (%c) at position %d", r, at)
		}
	}
	program, err := canonical(values["exec-file"])
	if err != nil {
		return err
	}
	base, err := canonical(values["chroot-base-dir"])
	if err != nil {
		return err
	}
	for _, name := range []string{"uid", "gid"} {
		if _, err := strconv.ParseUint(values[name], 10, 32); err != nil {
			return fmt.Errorf("Invalid %s: %s", name, values[name])
		}
	}
	root := filepath.Join(base, filepath.Base(program), id, "root")
	if err := os.MkdirAll(root, 0o700); err != nil {
		return fmt.Errorf("Failed to create directory %s: %s", root, fakevmm.SystemError(err))
	}
	if err := os.Chdir(root); err != nil {
		return err
	}
	// The data disk has to be writable for the jail's user, who is not taken here.
	var info syscall.Stat_t
	if err := syscall.Stat("data", &info); err == nil && strconv.Itoa(int(info.Uid)) != values["uid"] {
		return fmt.Errorf("data belongs to %d", info.Uid)
	}
	now := strconv.FormatInt(1, 10)
	args = append([]string{program, "--id", id, "--start-time-us", now, "--start-time-cpu-us", now, "--parent-cpu-time-us", now}, rest...)
	return syscall.Exec(program, args, os.Environ())
}
