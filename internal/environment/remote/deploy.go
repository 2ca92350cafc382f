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

// mine is this program, which is the same on every host: its file and its
// checksum.
var mine = sync.OnceValues(func() (program, error) {
	file, err := os.Executable()
	if err != nil {
		return program{}, fmt.Errorf("finding tare's own program: %w", err)
	}
	// The path may have another file by now; what runs is here.
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
	name    string // on a host: it tells the content
	dynamic bool   // it needs libraries, which a host may have in another version
}

func (p program) content() io.Reader { return io.NewSectionReader(p.file, 0, 1<<62) }

// survey says what the host is, where the program belongs and whether it is
// there. It is given the home, or nothing for the usual one, and a name.
const survey = `home=$1
[ -n "$home" ] || home=$TARE_HOME
if [ -z "$home" ]; then
	if [ "$(id -u)" = 0 ]; then home=/var/lib/tare; else home=$HOME/.local/share/tare; fi
fi
uname -sm
id -u
printf '%s\n' "$home/programs/$2"
if [ -x "$home/programs/$2" ]; then echo there; else echo missing; fi`

// architectures are uname's names of what Go builds for.
var architectures = map[string]string{"amd64": "x86_64", "arm64": "aarch64", "riscv64": "riscv64", "ppc64le": "ppc64le", "s390x": "s390x"}

// deploy puts this program onto the host, if it is not there, and returns its
// path there.
func deploy(ctx context.Context, h host.Host, o Options) (string, error) {
	p, err := mine()
	if err != nil {
		return "", err
	}
	out, err := h.Run(ctx, "sh", "-c", survey, "sh", o.Home, p.name)
	if err != nil {
		return "", err
	}
	said := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(said) < 4 {
		return "", fmt.Errorf("%s answers a shell script with %q: what a login prints there is in the way", h.Name(), out)
	}
	said = said[len(said)-4:] // a login may greet
	if want := "Linux " + architectures[runtime.GOARCH]; said[0] != want {
		return "", fmt.Errorf("%s is %s and this tare is built for %s: run tare from a machine of the same kind", h.Name(), said[0], want)
	}
	if said[1] != "0" && !o.Sudo {
		return "", fmt.Errorf("user %s on %s is not root, and what tare does there takes root: log in as root, or let it use sudo (sudo: true)", said[1], h.Name())
	}
	file := said[2]
	if said[3] == "there" {
		return file, nil
	}
	o.Progress(fmt.Sprintf("copying tare to %s on %s", file, h.Name()))
	if err := h.Put(ctx, file, 0o755, p.content()); err != nil {
		return "", fmt.Errorf("%w: name a folder there that can be written to (home:)", err)
	}
	// Other versions, which nobody has put there for a long time.
	h.Run(ctx, "find", path.Dir(file), "-name", "tare-*", "-mtime", "+60", "-delete")
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

// refused explains why the program did not speak there.
func refused(h host.Host, file string, complaints *host.Tail, err error) error {
	p, _ := mine()
	text := complaints.Last()
	switch {
	case strings.Contains(text, "ermission denied"):
		err = fmt.Errorf("%w%s: nothing may be executed there, as on a file system that is mounted noexec, or not by this user: name another folder (home:)", err, text)
	case p.dynamic && strings.Contains(text, "not found"):
		err = fmt.Errorf("%w%s: this tare needs libraries: build a static one (make build, or CGO_ENABLED=0)", err, text)
	default:
		err = fmt.Errorf("%w%s", err, text)
	}
	return fmt.Errorf("starting %s on %s: %w", file, h.Name(), errors.Join(err))
}
