package server

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"tare/internal/agent/wire"
	"tare/internal/base/bounded"
	"tare/internal/linux/searchpath"
)

// Path is the default of PATH, for environments that set none.
const Path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// preparedCommand is a validated command: program, directory and user are
// looked up.
type preparedCommand struct {
	path string
	argv []string
	attr syscall.ProcAttr
}

// prepare looks up the program, the working directory and the user. Its errors
// name the command.
func prepare(s wire.Start, environment []string) (preparedCommand, error) {
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return preparedCommand{}, errors.New("starting a command: its argv is empty")
	}
	p := preparedCommand{argv: s.Argv}
	p.attr.Dir = s.Dir
	p.attr.Dir = cmp.Or(p.attr.Dir, "/")
	if info, err := os.Stat(p.attr.Dir); err != nil {
		return p, fmt.Errorf("starting %s in directory %s: %w", s.Argv[0], p.attr.Dir, errors.Unwrap(err))
	} else if !info.IsDir() {
		return p, fmt.Errorf("starting %s in directory %s: %w", s.Argv[0], p.attr.Dir, unix.ENOTDIR)
	}
	// With setsid the command leads a new session and process group.
	// PR_SET_PDEATHSIG kills it if the agent itself is killed.
	p.attr.Sys = &syscall.SysProcAttr{Setsid: true, Pdeathsig: unix.SIGKILL}
	env := environment
	if s.User != "" {
		who, err := lookup(s.User)
		if err == nil {
			err = fit(&who.credential)
		}
		if err != nil {
			return p, fmt.Errorf("starting %s as user %s: %w", s.Argv[0], s.User, err)
		}
		p.attr.Sys.Credential = &who.credential
		if who.home != "" {
			env = append(slices.Clip(env), "HOME="+who.home)
		}
	}
	p.attr.Env = merge(env, s.Env)
	path, err := lookPath(s.Argv[0], p.attr.Env)
	p.path = path
	return p, err
}

// merge concatenates environments. A later value of a variable replaces an
// earlier one, since programs differ in which of two they read.
func merge(lists ...[]string) (env []string) {
	index := map[string]int{}
	for _, list := range lists {
		for _, entry := range list {
			key, _, _ := strings.Cut(entry, "=")
			if at, seen := index[key]; seen {
				env[at] = entry
				continue
			}
			index[key] = len(env)
			env = append(env, entry)
		}
	}
	return env
}

// lookPath finds a program as a shell does, in the PATH of the command's
// environment.
func lookPath(name string, env []string) (string, error) {
	var path string
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	found, err := searchpath.Find(name, path)
	if err != nil {
		err = fmt.Errorf("starting %s: %w", name, err)
	}
	return found, err
}

type account struct {
	credential syscall.Credential
	home       string
}

// accounts are what a user is looked up in. The image made them.
var accounts = []string{"/etc/passwd", "/etc/group"}

// checkAccounts refuses what package os/user would wait for, or read without an end.
func checkAccounts() error {
	for _, path := range accounts {
		file, err := bounded.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return err
		}
		info, err := file.Stat()
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
		if info.Size() > int64(bounded.Line) {
			return fmt.Errorf("%s has more than %s", path, bounded.Line)
		}
	}
	return nil
}

// lookup resolves a user given as "name" or "uid[:gid]". Numbers need no entry
// in /etc/passwd.
func lookup(text string) (account, error) {
	name, group, explicit := strings.Cut(text, ":")
	var a account
	if err := checkAccounts(); err != nil {
		return a, err
	}
	found, err := user.Lookup(name)
	if uid, bad := strconv.ParseUint(name, 10, 32); bad == nil {
		a.credential.Uid = uint32(uid)
		found, err = user.LookupId(name)
	} else if err != nil {
		return a, fmt.Errorf("no such name in /etc/passwd: %w", fs.ErrNotExist)
	}
	if err == nil {
		a.home = found.HomeDir
		uid, _ := strconv.ParseUint(found.Uid, 10, 32)
		gid, _ := strconv.ParseUint(found.Gid, 10, 32)
		a.credential.Uid, a.credential.Gid = uint32(uid), uint32(gid)
		groups, _ := found.GroupIds()
		for _, g := range groups {
			if id, err := strconv.ParseUint(g, 10, 32); err == nil {
				a.credential.Groups = append(a.credential.Groups, uint32(id))
			}
		}
	}
	if explicit {
		gid, bad := strconv.ParseUint(group, 10, 32)
		if bad != nil {
			g, err := user.LookupGroup(group)
			if err != nil {
				return a, fmt.Errorf("no such group in /etc/group: %w", fs.ErrNotExist)
			}
			gid, _ = strconv.ParseUint(g.Gid, 10, 32)
		}
		a.credential.Gid = uint32(gid)
		a.credential.Groups = []uint32{uint32(gid)}
	}
	return a, nil
}

// fit adapts an account to the user namespace that the agent is in. Where no list of
// groups can be set, which a map of one user forbids, it stays as it is; a user who has
// no ID there is an error that says so, rather than EINVAL.
func fit(c *syscall.Credential) error {
	if denied, err := os.ReadFile("/proc/self/setgroups"); err == nil && strings.TrimSpace(string(denied)) == "deny" {
		c.NoSetGroups = true
	}
	for file, id := range map[string]uint32{"/proc/self/uid_map": c.Uid, "/proc/self/gid_map": c.Gid} {
		text, err := os.ReadFile(file)
		if err == nil && !has(string(text), id) {
			return fmt.Errorf("ID %d is not mapped in this user namespace (%s has %q): give the user who runs tare more IDs in /etc/subuid and /etc/subgid, or run tare as root", id, file, strings.Join(strings.Fields(string(text)), " "))
		}
	}
	return nil
}

// has reports whether an ID inside is in a map.
func has(text string, id uint32) bool {
	for line := range strings.Lines(text) {
		var inside, outside, count uint64
		if n, _ := fmt.Sscan(line, &inside, &outside, &count); n == 3 && uint64(id) >= inside && uint64(id) < inside+count {
			return true
		}
	}
	return false
}
