package remote

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"tare/internal/host"
)

// ownProgram is this program, which runs on every host: its file, its size and its
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
	size, err := io.Copy(sum, f)
	if err != nil {
		return program{}, fmt.Errorf("reading tare's own program %s: %w", file, err)
	}
	p := program{file: f, size: strconv.FormatInt(size, 10), sum: hex.EncodeToString(sum.Sum(nil))}
	p.name = nameOf(p.sum)
	if parsed, err := elf.NewFile(f); err == nil {
		for _, segment := range parsed.Progs {
			p.dynamic = p.dynamic || segment.Type == elf.PT_INTERP
		}
	}
	return p, nil
})

type program struct {
	file    *os.File
	size    string // in bytes
	sum     string // SHA-256
	name    string // on a host: it contains the beginning of the checksum
	dynamic bool   // it needs shared libraries, which a host may lack
}

func (p program) content() io.Reader { return io.NewSectionReader(p.file, 0, 1<<62) }

// nameOf is the name on a host of the program that has a checksum.
func nameOf(sum string) string { return "tare-" + sum[:16] }

// ProgramAt is the path, below a home, where Dial looks for the program that has a checksum.
func ProgramAt(sum string) string { return path.Join(programs, nameOf(sum)) }

// OwnProgram returns the path, below a home, where Dial looks for this program, and
// the file to copy there. A host's disk that has the program already saves Dial the copying.
func OwnProgram() (at, file string, err error) {
	p, err := ownProgram()
	return path.Join(programs, p.name), "/proc/self/exe", err
}

// programs is the directory of the programs in a home.
const programs = "programs"

// survey makes the program's directory and prints the host's system, the user, the
// program's path, what above it another user can change, and the size of what is
// there; "-" for nothing. Its arguments are the home, "" for the default, and the
// program's name. It runs as the user who starts the program.
const survey = `umask 022
home=$1
[ -n "$home" ] || home=$TARE_HOME
if [ -z "$home" ]; then
	if [ "$(id -u)" = 0 ]; then home=/var/lib/tare; else home=$HOME/.local/share/tare; fi
fi
at=$home/` + programs + `
[ "$(id -u)" != 0 ] || mkdir -p "$at" 2>/dev/null
at=$(cd -P "$at" 2>/dev/null && pwd -P) || at=$home/` + programs + `
private() { # root's, and with the sticky bit if others may write
	set -- $(ls -ldn "$1" 2>/dev/null)
	bytes=$5
	[ "$3" = 0 ] || return 1
	case $1 in
	d????????[tT]*) ;;
	?????w*|????????w*) return 1 ;;
	esac
}
open= up=$at
while [ -d "$at" ] && [ -n "$up" ]; do
	private "$up" || open=$up
	up=${up%/*}
done
size=
case $(ls -ld "$at/$2" 2>/dev/null) in
-rwx*) if private "$at/$2"; then size=$bytes; fi ;;
esac
uname -sm
id -u
printf '%s\n' "$at/$2" "${open:--}" "${size:--}"`

// take prints the checksum of a copy, and gives it the program's name if it is the wanted
// one. Its arguments are the copy, its name where only root writes, the program's name, and
// the checksum.
const take = `{ [ "$1" = "$2" ] || cat "$1" >"$2"; } && sum=$(sha256sum <"$2") && sum=${sum%% *} || { rm -f "$2"; exit 1; }
printf '%s\n' "$sum"
[ "$sum" = "$4" ] || { rm -f "$2"; exit 0; }
chmod 755 "$2" && mv -f "$2" "$3" || { rm -f "$2"; exit 1; }`

// architectures are uname's names for those of Go.
var architectures = map[string]string{"amd64": "x86_64", "arm64": "aarch64", "riscv64": "riscv64", "ppc64le": "ppc64le"}

// deploy returns the path of this program on the host. It is started as root, so it lies
// where only root writes. Its name holds the beginning of its checksum, and only a copy that
// has it is given that name; before each start its owner, its mode and its size are
// compared, and what differs is replaced.
func deploy(ctx context.Context, h host.Host, o Options) (string, error) {
	p, err := ownProgram()
	if err != nil {
		return "", err
	}
	file, size, err := o.survey(ctx, h, p)
	if err != nil || size == p.size {
		return file, err
	}
	o.Progress(fmt.Sprintf("copying tare to %s on %s", file, h.Name()))
	if err := o.put(ctx, h, file, p); err != nil {
		return "", err
	}
	// Old versions.
	_, _ = h.Run(ctx, o.as("find", path.Dir(file), "-name", "tare-*", "-mtime", "+60", "-delete")...)
	if file, size, err = o.survey(ctx, h, p); err == nil && size != p.size {
		err = fmt.Errorf("the copy of tare at %s on %s has the size %s and not %s: another program replaces it", file, h.Name(), size, p.size)
	}
	return file, err
}

// survey returns the path of the program on the host, and its size if it is there.
func (o Options) survey(ctx context.Context, h host.Host, p program) (file, size string, err error) {
	out, err := h.Run(ctx, o.as("sh", "-c", survey, "sh", o.Home, p.name)...)
	if err != nil {
		return "", "", err
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) < 5 {
		return "", "", fmt.Errorf("a shell script on %s printed %q: the output of its login scripts is in the way", h.Name(), out)
	}
	lines = lines[len(lines)-5:] // a login may print something before
	if want := "Linux " + architectures[runtime.GOARCH]; lines[0] != want {
		return "", "", fmt.Errorf("%s is %s and this tare is built for %s: run tare on a machine of the same architecture", h.Name(), lines[0], want)
	}
	if lines[1] != "0" {
		return "", "", fmt.Errorf("user %s on %s is not root, which tare requires there: log in as root, or use sudo (sudo: true)", lines[1], h.Name())
	}
	if lines[3] != "-" {
		return "", "", fmt.Errorf("root would execute %s on %s, and users other than root can change %s: name a home there below directories that only root can write to (home:), such as /var/lib/tare", lines[2], h.Name(), lines[3])
	}
	return lines[2], lines[4], nil
}

// put copies the program to a file on the host, which gets its name once its checksum has
// been compared there. A user who is not root cannot write there, so that root takes the
// copy over.
func (o Options) put(ctx context.Context, h host.Host, file string, p program) error {
	unchecked := file + "-" + rand.Text()
	copied := unchecked
	if o.Sudo {
		copied = "/tmp/" + path.Base(unchecked)
		defer func() { _, _ = h.Run(context.WithoutCancel(ctx), "rm", "-f", copied) }()
	}
	if err := h.Put(ctx, copied, 0o600, p.content()); err != nil {
		return fmt.Errorf("%w: name a writable directory there (home:)", err)
	}
	out, err := h.Run(ctx, o.as("sh", "-c", take, "sh", copied, unchecked, file, p.sum)...)
	if err != nil {
		return fmt.Errorf("%w: name a writable directory there (home:), on a machine that has the program sha256sum", err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if sum := lines[len(lines)-1]; sum != p.sum { // a login may print something before
		return fmt.Errorf("the copy of tare for %s on %s has the SHA-256 %s and not %s: check the network and the disk there", file, h.Name(), sum, p.sum)
	}
	return nil
}

// as is a command of the user who starts the program there.
func (o Options) as(argv ...string) []string {
	if o.Sudo {
		argv = append([]string{"sudo", "-n"}, argv...)
	}
	return argv
}

// argv starts the program there.
func (o Options) argv(file string) []string {
	argv := o.as(file, Command, "--silence", o.Silence.String())
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
