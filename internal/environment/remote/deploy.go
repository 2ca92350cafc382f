package remote

import (
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"strings"
	"sync"

	"tare/internal/host"
)

// ownProgram is this program, which runs on every host: its file and its
// checksum.
var ownProgram = sync.OnceValues(func() (program, error) {
	file, err := os.Executable()
	if err != nil {
		return program{}, fmt.Errorf("finding tare's own program: %w", err)
	}
	// The path may name another file by now.
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return program{}, fmt.Errorf("reading tare's own program %s: %w", file, err)
	}
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return program{}, fmt.Errorf("reading tare's own program %s: %w", file, err)
	}
	p := program{file: f, name: "tare-" + hex.EncodeToString(sum.Sum(nil))[:16]}
	if parsed, err := elf.NewFile(f); err == nil {
		for _, segment := range parsed.Progs {
			p.dynamic = p.dynamic || segment.Type == elf.PT_INTERP
		}
	}
	return p, nil
})

type program struct {
	file    *os.File
	name    string // on a host: it contains the checksum
	dynamic bool   // it needs shared libraries, which a host may lack
}

func (p program) content() io.Reader { return io.NewSectionReader(p.file, 0, 1<<62) }

// OwnProgram returns the path, below a home, where Dial looks for this program, and
// the file to copy there. Whoever makes a host's disk saves Dial the copying.
func OwnProgram() (at, file string, err error) {
	p, err := ownProgram()
	return path.Join(programs, p.name), "/proc/self/exe", err
}

// programs is the directory of the programs in a home.
const programs = "programs"

// survey prints the host's system, the user, the program's path and whether it is
// there. Its arguments are the home, "" for the default, and the program's name.
const survey = `home=$1
[ -n "$home" ] || home=$TARE_HOME
if [ -z "$home" ]; then
	if [ "$(id -u)" = 0 ]; then home=/var/lib/tare; else home=$HOME/.local/share/tare; fi
fi
uname -sm
id -u
printf '%s\n' "$home/` + programs + `/$2"
if [ -x "$home/` + programs + `/$2" ]; then echo there; else echo missing; fi`

// architectures are uname's names for those of Go.
var architectures = map[string]string{"amd64": "x86_64", "arm64": "aarch64", "riscv64": "riscv64", "ppc64le": "ppc64le"}

// deploy copies this program to the host, if it is not there, and returns its path
// there.
func deploy(ctx context.Context, h host.Host, o Options) (string, error) {
	p, err := ownProgram()
	if err != nil {
		return "", err
	}
	out, err := h.Run(ctx, "sh", "-c", survey, "sh", o.Home, p.name)
	if err != nil {
		return "", err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) < 4 {
		return "", fmt.Errorf("a shell script on %s printed %q: the output of its login scripts is in the way", h.Name(), out)
	}
	lines = lines[len(lines)-4:] // a login may print something before
	if want := "Linux " + architectures[runtime.GOARCH]; lines[0] != want {
		return "", fmt.Errorf("%s is %s and this tare is built for %s: run tare on a machine of the same architecture", h.Name(), lines[0], want)
	}
	if lines[1] != "0" && !o.Sudo {
		return "", fmt.Errorf("user %s on %s is not root, which tare requires there: log in as root, or use sudo (sudo: true)", lines[1], h.Name())
	}
	file := lines[2]
	if lines[3] == "there" {
		return file, nil
	}
	o.Progress(fmt.Sprintf("copying tare to %s on %s", file, h.Name()))
	if err := h.Put(ctx, file, 0o755, p.content()); err != nil {
		return "", fmt.Errorf("%w: name a writable directory there (home:)", err)
	}
	// Old versions.
	_, _ = h.Run(ctx, "find", path.Dir(file), "-name", "tare-*", "-mtime", "+60", "-delete")
	return file, nil
}

// argv starts the program there.
func (o Options) argv(file string) []string {
	var argv []string
	if o.Sudo {
		argv = []string{"sudo", "-n"}
	}
	argv = append(argv, file, Command, "--silence", o.Silence.String())
	if o.Home != "" {
		argv = append(argv, "--home", o.Home)
	}
	return argv
}

// refused explains why the program did not start there.
func refused(h host.Host, file string, stderr *host.Tail, err error) error {
	p, _ := ownProgram()
	text := stderr.Last()
	switch {
	case strings.Contains(text, "ermission denied"):
		err = fmt.Errorf("%w%s: the file system is mounted noexec, or this user may not execute the file: name another directory (home:)", err, text)
	case p.dynamic && strings.Contains(text, "not found"):
		err = fmt.Errorf("%w%s: this tare is dynamically linked: build a static one (make build, or CGO_ENABLED=0)", err, text)
	default:
		err = fmt.Errorf("%w%s", err, text)
	}
	return fmt.Errorf("starting %s on %s: %w", file, h.Name(), errors.Join(err))
}
