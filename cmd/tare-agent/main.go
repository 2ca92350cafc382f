// Command tare-agent is the agent that tare runs in every instance. docs/contributing/agent.md
// describes its modes and its protocol. It prints messages to standard error
// only, since standard output may be the stream.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent/calls"
	"tare/internal/agent/guest"
	"tare/internal/agent/logdriver"
	"tare/internal/agent/native"
	"tare/internal/agent/observe"
	"tare/internal/agent/server"
	"tare/internal/agent/share"
	"tare/internal/agent/shim"
	"tare/internal/agent/wire"
	"tare/internal/environment/support/rootfs"
)

// born is read before main, as close to the first instruction as Go allows.
var born = server.Monotonic()

const usage = `tare-agent runs in the instances that tare starts. It is not meant to be run by hand.

  tare-agent stdio [--open DIR] [--environment FD] [--await]
                         serve on standard input and output; make DIR
                         writable for all users; begin when a client calls
  tare-agent native --root DIR [--cgroup FILE] [--bind SRC:DST[:ro]]
                    [--tmpfs DST] [--host-dev] [--mask PATH]
                    [--read-only PATH] [--capabilities all|LIST]
                    [--mapped] [--environment FD]
                         the same on this host, in the root directory DIR
  tare-agent root IMAGE DIR
                         fill DIR from the directory IMAGE and print the mounts
                         that it needs, one a line
  tare-agent look PATH...
                         print contents of files and targets of links as JSON
  tare-agent fingerprint read a request as JSON, and print what the kernel
                         shows of this instance and its servers
  tare-agent pack DIR    write DIR to standard output as a tar stream
  tare-agent unpack DIR  write a tar stream from standard input into DIR
  tare-agent logger [--format pipe|file|json-file] [--file FILE]
                         copy standard input to standard output, and log it
  tare-agent shim PIDFILE COMMAND... -- COMMAND...
                         start a container with the second command, wait for
                         its exit, and run the first
  tare-agent call KIND MILLISECONDS
                         do one kind of system call for that long, and print how
                         many and how long they took; call prepare copies the
                         program and makes the files that some need, in the
                         current directory
  tare-agent init        run as a guest's init (also when called /init)
`

func init() {
	// Package native changes per-thread state, and only the main thread survives
	// the exec that follows.
	runtime.LockOSThread()
	// An idle agent is part of the cost that tare measures, so it stays small.
	debug.SetGCPercent(50)
	debug.SetMemoryLimit(12 << 20)
	if runtime.GOMAXPROCS(0) > 2 {
		runtime.GOMAXPROCS(2)
	}
}

func main() {
	mode, args := "", []string(nil)
	if len(os.Args) > 1 {
		mode, args = os.Args[1], os.Args[2:]
	}
	if os.Getpid() == 1 && os.Args[0] == "/init" {
		mode = "init"
	}
	if path.Base(os.Args[0]) == "true" {
		return // in the image that tare has in itself
	}
	var err error
	switch mode {
	case "stdio":
		err = serveStdio(args)
	case "native":
		err = enterNative(args)
	case "root":
		err = fillRoot(args)
	case "look":
		err = observe.ReadPaths(args, os.Stdout)
	case "fingerprint":
		err = observe.Fingerprint(os.Stdin, os.Stdout)
	case "pack":
		err = withDirectory(args, func(directory string) error { return share.Pack(directory, os.Stdout) })
	case "unpack":
		err = withDirectory(args, func(directory string) error { return share.Unpack(directory, os.Stdin) })
	case "logger":
		err = runLogger(args)
	case "shim":
		err = runShim(args)
	case "call":
		err = calls.Run(args, os.Stdout)
	case "init":
		guest.Run(server.Options{Born: born, Stop: stopSignal()})
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tare-agent:", err)
		os.Exit(1)
	}
}

func withDirectory(args []string, do func(string) error) error {
	if len(args) != 1 {
		return errors.New("a directory is expected")
	}
	return do(args[0])
}

// serveStdio serves on standard input and output. It moves them to other
// descriptors first, so that stray output goes to standard error.
func serveStdio(args []string) error {
	flags := flag.NewFlagSet("stdio", flag.ContinueOnError)
	since := flags.Int64("born", int64(born), "monotonic time of the first instruction in nanoseconds, set if the agent executed itself")
	open := flags.String("open", "", "directory to make writable for all users")
	variables := flags.Int("environment", 0, "descriptor to read the commands' environment from; 0: the agent's own")
	await := flags.Bool("await", false, "begin when a client calls and has heard the answer: one that attaches to a running container misses earlier output")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *await {
		if err := awaitClient(); err != nil {
			return err
		}
	}
	if *open != "" {
		// If it is writable already, it may belong to another user, as in a rootless
		// container.
		if info, err := os.Stat(*open); err != nil || info.Mode().Perm() != 0o777 {
			if err := os.Chmod(*open, 0o777); err != nil {
				return fmt.Errorf("making the data directory writable: %w", err)
			}
		}
	}
	environment, err := commandEnvironment(*variables)
	if err != nil {
		return err
	}
	stop := stopSignal()
	in, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return fmt.Errorf("duplicating standard input: %w", err)
	}
	out, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return fmt.Errorf("duplicating standard output: %w", err)
	}
	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.Dup3(null, 0, 0), unix.Dup3(2, 1, 0), unix.Close(null))
	}
	if err != nil {
		return fmt.Errorf("redirecting standard input and output: %w", err)
	}
	stream := struct {
		io.Reader
		io.Writer
	}{os.NewFile(uintptr(in), "stdin"), os.NewFile(uintptr(out), "stdout")}
	return server.Serve(stream, server.Options{Born: time.Duration(*since), Stop: stop, Environment: environment})
}

// attachTimeout bounds how long the agent waits for somebody to attach.
const attachTimeout = 5 * time.Minute

// awaitClient waits for a client that attaches.
func awaitClient() error {
	late := time.AfterFunc(attachTimeout, func() {
		fmt.Fprintln(os.Stderr, "tare-agent: nobody attached within", attachTimeout)
		os.Exit(1)
	})
	defer late.Stop()
	return wire.AwaitClient(os.Stdin, os.Stdout)
}

// runLogger runs the log driver. It ignores terminating signals and exits at EOF.
func runLogger(args []string) error {
	flags := flag.NewFlagSet("logger", flag.ContinueOnError)
	format := flags.String("format", "pipe", "pipe, file or json-file")
	file := flags.String("file", "", "log file")
	if err := flags.Parse(args); err != nil {
		return err
	}
	signal.Ignore(unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	return logdriver.Copy(os.Stdin, os.Stdout, *format, *file, time.Now)
}

// runShim runs the shim. If the container's start fails, it exits with the status
// of the runtime.
func runShim(args []string) error {
	at := slices.Index(args, "--")
	if at < 2 || at == len(args)-1 {
		return fmt.Errorf("shim takes a file, a command, -- and another command, not %q", args)
	}
	err := shim.Run(args[0], args[at+1:], args[1:at])
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		os.Exit(max(exit.ExitCode(), 1))
	}
	return err
}

// stopSignal returns a channel that a terminating signal closes. SIGPIPE is
// caught rather than ignored, since children would inherit an ignored signal.
func stopSignal() <-chan struct{} {
	stop, asked, ignored := make(chan struct{}), make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(asked, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	signal.Notify(ignored, unix.SIGPIPE)
	go func() { <-asked; close(stop) }()
	return stop
}

// list is a flag that may be repeated.
type list []string

func (l *list) String() string       { return fmt.Sprint(*l) }
func (l *list) Set(one string) error { *l = append(*l, one); return nil }

func enterNative(args []string) error {
	// If tare is killed, the agent gets SIGTERM and kills its children; SIGKILL
	// would leave them running.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0); err != nil {
		return fmt.Errorf("setting the parent-death signal: %w", err)
	}
	var config native.Config
	flags := flag.NewFlagSet("native", flag.ContinueOnError)
	flags.StringVar(&config.Root, "root", "/", "root directory; / is the host's root")
	flags.Var((*list)(&config.Cgroups), "cgroup", "a cgroup.procs or tasks file to enter; may be repeated")
	flags.Var((*list)(&config.Binds), "bind", "SRC:DST[:ro]; may be repeated")
	flags.Var((*list)(&config.Tmpfs), "tmpfs", "DST; may be repeated")
	flags.BoolVar(&config.Mapped, "mapped", false, "in a user namespace: the host's /proc and /sys")
	flags.BoolVar(&config.HostDev, "host-dev", false, "the host's /dev, not a minimal one")
	flags.Var((*list)(&config.Masked), "mask", "path to hide; may be repeated")
	flags.Var((*list)(&config.ReadOnly), "read-only", "path to make read-only; may be repeated")
	flags.StringVar(&config.Capabilities, "capabilities", "all", "all, or names with commas between")
	variables := flags.Int("environment", 0, "as of stdio")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("native takes no argument %q", flags.Arg(0))
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("opening the agent's executable: %w", err)
	}
	if err := native.Enter(config); err != nil {
		return err
	}
	return native.Exec(self, []string{"tare-agent", "stdio", "--born=" + strconv.FormatInt(int64(born), 10),
		"--environment=" + strconv.Itoa(*variables)}, os.Environ())
}

// fillRoot makes a root as tare does on a host where it is root. Elsewhere it takes a user
// namespace, which only a new process can be in.
func fillRoot(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("root takes two directories, not %q", args)
	}
	binds, err := rootfs.Fresh(args[0], args[1])
	for _, b := range binds {
		fmt.Println(b)
	}
	return err
}

// commandEnvironment is the environment of the commands: from a descriptor, so that
// an image's variables are neither the agent's nor in its command line, or the agent's
// own. Runtimes set different variables, and some no HOME.
func commandEnvironment(descriptor int) (list []string, err error) {
	list = os.Environ()
	if descriptor > 0 {
		file := os.NewFile(uintptr(descriptor), "environment")
		defer file.Close()
		text, err := io.ReadAll(file)
		if err != nil {
			return nil, fmt.Errorf("reading the environment of commands: %w", err)
		}
		list = strings.FieldsFunc(string(text), func(r rune) bool { return r == 0 })
	}
	for _, fallback := range []string{"PATH=" + server.Path, "HOME=/root"} {
		key, _, _ := strings.Cut(fallback, "=")
		if !slices.ContainsFunc(list, func(s string) bool { return strings.HasPrefix(s, key+"=") && s != key+"=" }) {
			list = append(list, fallback)
		}
	}
	return list, nil
}
