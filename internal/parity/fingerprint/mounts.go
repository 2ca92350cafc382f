package fingerprint

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/moby/sys/mountinfo"

	"tare/internal/base/lists"
	"tare/internal/environment"
	"tare/internal/parity"
)

type mount struct {
	point, kind, source, root string
	major                     int
	options                   []string
	propagation               string
}

type mounts []mount

func parseMounts(text string) (list mounts) {
	infos, err := mountinfo.GetMountsFromReader(bytes.NewReader([]byte(text)), nil)
	if err != nil {
		return nil
	}
	for _, m := range infos {
		list = append(list, mount{m.Mountpoint, m.FSType, m.Source, m.Root, m.Major,
			options(strings.Split(m.Options, ","), strings.Split(m.VFSOptions, ",")), propagation(m.Optional)})
	}
	return list
}

// propagation of a mount from its optional fields, without the numbers of peer groups.
func propagation(optional string) string {
	switch {
	case strings.Contains(optional, "shared:"):
		return "shared"
	case strings.Contains(optional, "master:"):
		return "slave"
	}
	return "private"
}

// closing adds what a layer takes from its programs by mounts.
func (r *reading) closing() {
	if why := r.Absent["/dev"]; why != "" {
		r.missing("devices", parity.Inside, "/dev: %s", why)
	} else {
		// Without numbers: loop devices and terminals come and go.
		nodes := lists.Map(r.Devices, func(name string) string { return digits.ReplaceAllString(name, "*") })
		slices.Sort(nodes)
		r.inside("devices", cmp.Or(strings.Join(slices.Compact(nodes), ","), parity.None))
	}
	if len(r.mounts) == 0 {
		for _, key := range []string{"proc.masked", "mount.propagation"} {
			r.missing(key, parity.Inside, "%s: %s", mountinfoFile, r.why(mountinfoFile))
		}
		return
	}
	r.inside("mount.propagation", r.on("/").propagation)
	var masked []string
	for _, m := range r.mounts {
		if !strings.HasPrefix(m.point, "/proc/") && !strings.HasPrefix(m.point, "/sys/") {
			continue
		}
		readOnly := slices.Contains(m.options, "ro")
		switch {
		case m.kind == "tmpfs" && readOnly, strings.HasSuffix(m.root, "/null"):
			masked = append(masked, m.point)
		case readOnly && m.root != "/" && (m.kind == "proc" || m.kind == "sysfs"):
			masked = append(masked, m.point+" (read-only)")
		}
	}
	slices.Sort(masked)
	r.inside("proc.masked", cmp.Or(strings.Join(slices.Compact(masked), ","), parity.None))
}

var digits = regexp.MustCompile(`[0-9]+`)

// on returns the mount that contains a path: the one with the longest mount point,
// and of several with the same mount point the last.
func (l mounts) on(path string) (at mount) {
	for _, m := range l {
		point := strings.TrimSuffix(m.point, "/")
		if (path == m.point || strings.HasPrefix(path, point+"/")) && len(m.point) >= len(at.point) {
			at = m
		}
	}
	return at
}

// told matches mount options that name directories of the host, descriptors or
// numbers, or restrict which files have privileges. They do not affect how the file
// system works.
var told = []string{"lowerdir", "upperdir", "workdir", "rfdno", "wfdno", "fd", "pgrp", "pipe_ino", "subvolid", "subvol",
	"context", "fscontext", "defcontext", "rootcontext", "user_id", "group_id", "lowerdir+", "uuid", "nosuid", "nodev"}

// options joins the options of the mount and of the file system.
func options(mount, system []string) (list []string) {
	for _, option := range slices.Concat(mount, system) {
		name, _, _ := strings.Cut(option, "=")
		if option != "" && !slices.Contains(told, name) && !slices.Contains(list, option) {
			list = append(list, option)
		}
	}
	if slices.Contains(list, "ro") {
		list = slices.DeleteFunc(list, func(o string) bool { return o == "rw" })
	}
	slices.Sort(list)
	return list
}

// places adds the file system and the disk of each path that the workload uses.
func (r *reading) places() {
	for path, layer := range map[string]string{"/": r.outer.Paths.Root, "/data": r.outer.Paths.Data} {
		if layer != "" {
			r.outside("path["+path+"].layer", layer)
		}
	}
	for _, path := range append([]string{"/", "/data", "/tmp"}, r.paths()...) {
		r.pathFacts(path, "path["+r.plain(path)+"].")
	}
}

func (r *reading) pathFacts(path, key string) {
	p, ok := r.Locations[path]
	if !ok {
		for _, name := range []string{"filesystem", "mount", "options", "source", "block", "below"} {
			r.missing(key+name, parity.Inside, "%s: %s", path, r.why(path))
		}
		return
	}
	m := r.on(p.Path)
	if m.point == "" {
		r.missing(key+"filesystem", parity.Inside, "%s: %s", mountinfoFile, r.why(mountinfoFile))
	} else {
		r.inside(key+"filesystem", m.kind)
		r.inside(key+"mount", m.point)
		r.inside(key+"options", strings.Join(m.options, ","))
		r.inside(key+"source", m.device())
	}
	r.inside(key+"block", strconv.FormatInt(p.Block, 10))
	below := r.below(m)
	if below == "" {
		r.missing(key+"below", parity.Outside, "the provider does not report which file system of the host holds it")
	} else {
		r.outside(key+"below", below)
	}
	r.disk(key, below, p.Queue)
}

// device describes the device of a mount in a form that is equal at each start.
func (m mount) device() string {
	device := strings.HasPrefix(m.source, "/dev/")
	name := strings.TrimRight(m.source, "0123456789")
	switch {
	case !device:
		return parity.None
	case m.root != "/":
		return "directory"
	case name == "/dev/loop" || name == "/dev/dm-":
		return name
	}
	return m.source
}

// below adds the host's file system that contains a mount.
func (r *reading) below(m mount) string {
	switch {
	case m.kind == "tmpfs" || m.kind == "ramfs":
		return environment.Memory
	case m.point == "/data":
		return r.outer.Paths.DataOn
	case m.point == "/":
		return r.outer.Paths.RootOn
	case r.outer.Shared && strings.HasPrefix(m.source, "/dev/"):
		return m.kind + " on " + strings.TrimPrefix(m.source, "/dev/")
	}
	return ""
}

// disk adds the settings of the disks below a path: of the guest's disk by the
// guest's kernel, and of the disk that contains it by the host's.
func (r *reading) disk(key, below string, queue map[string]string) {
	hosts := r.outer.Disks[below]
	if below == environment.Memory {
		for _, name := range []string{"scheduler", "readahead", "cache"} {
			r.outside(key+name, environment.Memory)
		}
		return
	}
	seen := parity.Inside
	if len(queue) == 0 && r.outer.Shared {
		queue, seen = hosts, parity.Outside
	}
	for _, f := range []struct{ name, file string }{{"scheduler", "scheduler"}, {"readahead", "read_ahead_kb"}, {"cache", "write_cache"}} {
		switch value := queue[f.file]; {
		case value == "":
			r.missing(key+f.name, seen, "no disk shows its %s for this path", f.file)
		case chosen(value) != "":
			r.fact(key+f.name, chosen(value), seen)
		default:
			r.fact(key+f.name, value, seen)
		}
		if value := hosts[f.file]; value != "" && !r.outer.Shared && f.name != "readahead" {
			if one := chosen(value); one != "" {
				value = one
			}
			r.outside(key+"host."+f.name, value)
		}
	}
}
