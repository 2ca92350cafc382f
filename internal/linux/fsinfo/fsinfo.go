// Package fsinfo finds the file system of the host that a path is on, in the form
// of reports: "ext4 on vda1". If the disks of two environments are on different
// ones, their comparison also compares these.
//
// It must not know environments.
package fsinfo

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Of names the file system below a path of the host; "" where the kernel does
// not say.
func Of(path string) string {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	return find(string(mounts), resolved)
}

// Device is what Of says of a device that no file system of the host is on.
func Device(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	return "device " + strings.TrimPrefix(path, "/dev/")
}

// find looks for the mount that a path is on: the deepest above it, and of
// several at one place the last, which covers the others.
func find(mountinfo, path string) string {
	deepest, found := -1, ""
	for line := range strings.Lines(mountinfo) {
		point, text, ok := parse(line)
		if !ok || !above(point, path) || len(point) < deepest {
			continue
		}
		deepest, found = len(point), text
	}
	return found
}

// parse reads one line:
//
//	27 1 254:0 / /mnt\040a rw,relatime - ext4 /dev/vda1 rw
func parse(line string) (point, text string, ok bool) {
	place, kind, ok := strings.Cut(line, " - ")
	fields, what := strings.Fields(place), strings.Fields(kind)
	if !ok || len(fields) < 5 || len(what) < 2 {
		return "", "", false
	}
	text = what[0]
	if device, of := strings.CutPrefix(unescape(what[1]), "/dev/"); of {
		text += " on " + device
	}
	return unescape(fields[4]), text, true
}

func above(point, path string) bool {
	return point == "/" || path == point || strings.HasPrefix(path, point+"/")
}

// unescape undoes the kernel's octal escapes of spaces and the like.
func unescape(text string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, `\`)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		if code, err := strconv.ParseUint(after[:min(3, len(after))], 8, 8); err == nil && len(after) >= 3 {
			out.WriteByte(byte(code))
			text = after[3:]
			continue
		}
		out.WriteByte('\\')
		text = after
	}
}
