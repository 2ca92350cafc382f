// Package private keeps the directories of one user closed to the others of this
// host: they hold set-user-ID programs and device nodes of images, directories that
// every user of a workload may write to, and command lines.
//
// It must not know what is in them.
package private

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Directory makes a directory that only this user reaches, or closes one that exists.
func Directory(path string) error {
	if err := Make(path); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = os.Chmod(path, info.Mode()&^0o077)
	}
	if err != nil {
		return fmt.Errorf("closing %s to other users: %w", path, err)
	}
	return nil
}

// Make makes a directory, and its parents, as Directory does, and leaves one that
// exists as it is: it may hold what is not tare's.
func Make(path string) error {
	err := Check(path)
	if err == nil {
		err = os.MkdirAll(path, 0o700)
	}
	if err == nil {
		err = Check(path) // another user may have made it meanwhile
	}
	return err
}

// New makes a directory of this name, the time and, since two may be made in one second,
// a number, in a directory of this user.
func New(parent, name string, now time.Time) (string, error) {
	if err := Directory(parent); err != nil {
		return "", err
	}
	base := filepath.Join(parent, strings.TrimSuffix(name, "-")+"-"+now.Format("20060102-150405"))
	for n, directory := 2, base; ; n++ {
		err := os.Mkdir(directory, 0o700)
		if err == nil || !errors.Is(err, fs.ErrExist) {
			return directory, err
		}
		directory = fmt.Sprintf("%s-%d", base, n)
	}
}

// ErrForeign is in the chain of an error about a path that another user controls.
var ErrForeign = errors.New("another user could redirect what tare writes, removes and kills")

// Check reports whether another user controls where a path leads: as the owner of one
// of its directories or symbolic links, or because all users may write to one. The
// part of a path that does not exist is not checked.
func Check(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	at, rest := "/", strings.Split(path, "/")
	for links := 0; len(rest) > 0; {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		var stat unix.Stat_t
		if err := unix.Lstat(next, &stat); errors.Is(err, unix.ENOENT) {
			return nil
		} else if err != nil {
			return &fs.PathError{Op: "lstat", Path: next, Err: err}
		}
		if err := foreign(next, stat.Uid); err != nil {
			return fmt.Errorf("%w; name a directory of yours with --home, or run tare as that user", err)
		}
		if stat.Mode&unix.S_IFMT == unix.S_IFLNK {
			if links++; links > 40 { // as in the kernel
				return &fs.PathError{Op: "lstat", Path: path, Err: unix.ELOOP}
			}
			target, err := os.Readlink(next)
			if err != nil {
				return err
			}
			if filepath.IsAbs(target) {
				at = "/"
			}
			rest = append(strings.Split(target, "/"), rest...)
			continue
		}
		if stat.Mode&unix.S_IWOTH != 0 && stat.Mode&unix.S_ISVTX == 0 {
			return fmt.Errorf("every user may write to %s: %w; take that permission away (chmod o-w), or name another directory with --home", next, ErrForeign)
		}
		at = next
	}
	return nil
}

// CheckOwner reports whether a directory, or a file, belongs to another user.
func CheckOwner(path string) error {
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		return &fs.PathError{Op: "stat", Path: path, Err: err}
	}
	return foreign(path, stat.Uid)
}

func foreign(path string, owner uint32) error {
	if slices.Contains(owners(), owner) {
		return nil
	}
	return fmt.Errorf("%s belongs to %s, and tare runs as %s: %w", path, name(owner), name(uint32(os.Geteuid())), ErrForeign)
}

// owners are the users whom tare trusts with its directories: root, its own user and
// the one who called it with sudo. In a user namespace root outside has another ID.
func owners() []uint32 {
	list := []uint32{0, uint32(os.Geteuid())}
	if caller, err := strconv.ParseUint(os.Getenv("SUDO_UID"), 10, 32); err == nil && os.Geteuid() == 0 {
		list = append(list, uint32(caller))
	}
	var root unix.Stat_t
	if unix.Stat("/", &root) == nil {
		list = append(list, root.Uid)
	}
	return list
}

func name(uid uint32) string {
	id := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(id); err == nil {
		return u.Username
	}
	return "user " + id
}

// Admit lets one other user pass through directories, without listing them, where not
// all users may: by an access control list, since the permissions of the owning group
// would admit others. Directory takes it back.
func Admit(uid int, directories ...string) error {
	// The extended attribute is described in linux/posix_acl_xattr.h: a version, then
	// tag, permissions and ID of each entry.
	list := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, permissions uint16
		id               uint32
	}{
		{0x01, 7, ^uint32(0)},  // ACL_USER_OBJ
		{0x02, 1, uint32(uid)}, // ACL_USER
		{0x04, 0, ^uint32(0)},  // ACL_GROUP_OBJ
		{0x10, 1, ^uint32(0)},  // ACL_MASK
		{0x20, 0, ^uint32(0)},  // ACL_OTHER
	} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.permissions)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	for _, directory := range directories {
		if info, err := os.Stat(directory); err == nil && info.Mode()&1 != 0 {
			continue
		}
		if err := unix.Setxattr(directory, "system.posix_acl_access", list, 0); err != nil {
			return fmt.Errorf("letting %s pass through %s with an access control list: %w", name(uint32(uid)), directory, err)
		}
	}
	return nil
}
