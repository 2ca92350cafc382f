package fingerprint

import (
	"path/filepath"
	"strings"

	"tare/internal/agent/observe"
	"tare/internal/parity"
)

// programs adds the programs of the running servers and of the drivers.
func (r *reading) programs() {
	libc := ""
	for _, s := range r.Servers {
		p := r.Processes[s.Name]
		r.logs(s.Name, p)
		command := strings.TrimRight(p.Texts["cmdline"], "\x00 ")
		if command == "" {
			r.missing("command["+s.Name+"]", parity.Inside, "/proc/PID/cmdline: %s", r.why(s.Name+": cmdline"))
		} else {
			r.inside("command["+s.Name+"]", strings.ReplaceAll(command, "\x00", " "))
		}
		exe := p.Texts["exe"]
		if exe == "" {
			for _, key := range []string{"program[" + s.Role + "/?].path", "allocator[" + s.Role + "/?]"} {
				r.missing(key, parity.Inside, "/proc/PID/exe: %s", r.why(s.Name+": exe"))
			}
			continue
		}
		name := s.Role + "/" + called(exe, p)
		r.program(name, r.Answer.Programs[exe])
		r.inside("allocator["+name+"]", allocator(p.Libraries))
		if libc == "" {
			libc = standard(r.Answer.Programs[exe])
		}
	}
	for _, d := range r.Drivers {
		r.fact("command["+d.Role+"]", strings.Join(strings.Fields(strings.Join(d.Words, " ")), " "), parity.Planned)
		programs := Programs(d.Words)
		for _, program := range programs {
			if len(programs) > 1 && r.Answer.Programs[program].Path == "" {
				continue // a word of the script that only looked like one
			}
			r.program(d.Role+"/"+filepath.Base(program), r.Answer.Programs[program])
			if libc == "" {
				libc = standard(r.Answer.Programs[program])
			}
		}
	}
	if libc == "" {
		r.missing("libc", parity.Inside, "no program of the workload is known")
	} else {
		r.inside("libc", libc)
	}
}

// called returns the name that a program was started by. A file can have several,
// as with Redis.
func called(exe string, p observe.Process) string {
	name := statusField(p.Texts["status"], "Name")
	if base := filepath.Base(exe); name == "" || strings.ContainsAny(name, "[]/") || strings.HasPrefix(base, name) {
		return base
	}
	return name
}

func (r *reading) program(name string, p observe.Program) {
	key := "program[" + name + "]."
	known := func(part, value, why string) {
		if value == "" {
			r.missing(key+part, parity.Inside, "%s", why)
		} else {
			r.inside(key+part, value)
		}
	}
	known("path", p.Path, p.Error)
	if p.SHA256 == "" {
		known("sha256", "", p.Error)
	} else {
		r.sum(key+"sha256", p.SHA256)
	}
	why := "no package that dpkg or apk know of has the file"
	if p.Path == "" {
		why = p.Error
	}
	known("version", strings.TrimSpace(p.Package+" "+p.Version), why)
}

// standard returns the C library, from the program's dynamic loader.
func standard(p observe.Program) string {
	base := filepath.Base(p.Loader)
	kind := "a script of " + base
	switch {
	case p.Path == "":
		return ""
	case p.Loader == "":
		return "none, static"
	case strings.HasPrefix(base, "ld-musl"):
		kind = "musl"
	case strings.HasPrefix(base, "ld-"):
		kind = "glibc"
	default:
		return kind
	}
	if p.LoaderVersion != "" {
		kind += " " + p.LoaderVersion
	}
	return kind
}

// allocators by the prefix of their library's name.
var allocators = []string{"libjemalloc", "libtcmalloc", "libmimalloc", "libhoard", "libsnmalloc", "libscudo", "librpmalloc"}

func allocator(libraries []string) string {
	for _, library := range libraries {
		for _, prefix := range allocators {
			if base := filepath.Base(library); strings.HasPrefix(base, prefix) {
				return base
			}
		}
	}
	return parity.LibcsOwn
}
