package firecracker

import (
	"bytes"
	"context"
	"debug/elf"
	"fmt"
	"io"

	"tare/internal/environment"
	"tare/internal/environment/support/microvm"
)

var fix = environment.Advice("put firecracker from its release archive on the PATH, or set the option program to its path; no distribution has a package")

func requirements(o *Options) []environment.Requirement {
	list := append(microvm.Requirements("Firecracker", &o.Options, fix),
		environment.Requirement{What: "a static Firecracker, for the option jailer", Check: o.checkJail})
	if o.Jailer != "" {
		list = append(list, environment.Program("the program "+o.Jailer+", for the jail", o.Jailer,
			environment.Advice("take it from the release archive of the same version of Firecracker")))
	}
	return list
}

func (o *Options) needs() (environment.Needs, error) {
	if o.Jailer == "" {
		return microvm.Needs(&o.Options)
	}
	return microvm.Needs(&o.Options, o.Jailer)
}

// checkJail checks that Firecracker runs where no other file is: the jailer copies the
// program alone into the jail, and only says "No such file or directory" where the
// program's interpreter is missing. Without the option the result is information.
func (o *Options) checkJail(context.Context) environment.Finding {
	program := microvm.Path(o.Program)
	interpreter, err := interpreter(program)
	reason := fmt.Sprintf("%s is dynamically linked, and a jail has no %s", program, interpreter)
	switch {
	case err != nil:
		reason = fmt.Sprintf("%s is no program that a jail could run: %v", program, err)
	case interpreter == "":
		return environment.Works(program + " is statically linked")
	}
	if o.Jailer == "" {
		return environment.Works("not needed without this option; " + reason)
	}
	return environment.Lacks(reason, environment.Advice("use the firecracker of the release archive, build it for musl (cargo build --target "+musl+"), or leave jailer out"))
}

const musl = "x86_64-unknown-linux-musl"

// interpreter is the dynamic linker that an executable asks for; "" for none.
func interpreter(program string) (string, error) {
	file, err := elf.Open(program)
	if err != nil {
		return "", err
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			path, err := io.ReadAll(p.Open())
			return string(bytes.TrimRight(path, "\x00")), err
		}
	}
	return "", nil
}
