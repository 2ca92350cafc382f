// Package permission says how a user comes to a file that denied access: through its group.
//
// It must not know what the file is for.
package permission

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Fix is what the user who runs this process can do to read and write a file. It begins
// with running as root.
func Fix(path string) string { return fix(path, os.Geteuid()) }

func fix(path string, uid int) string {
	const root = "run as root (sudo)"
	var file unix.Stat_t
	const readWrite = unix.S_IRGRP | unix.S_IWGRP
	if unix.Stat(path, &file) != nil || file.Mode&readWrite != readWrite || file.Gid == 0 {
		return root // what root's group may do is root's
	}
	group, err := user.LookupGroupId(strconv.Itoa(int(file.Gid)))
	if err != nil {
		return root
	}
	me, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return fmt.Sprintf("%s, or as a member of the group %s, whose file it is", root, group.Name)
	}
	if groups, err := me.GroupIds(); err == nil && slices.Contains(groups, group.Gid) {
		return fmt.Sprintf("%s, or log in again: %s is a member of the group %s, but was not when this session began", root, me.Username, group.Name)
	}
	return fmt.Sprintf("%s, or add the user to the group of %s (sudo usermod -aG %s %s; then log in again)", root, path, group.Name, me.Username)
}
