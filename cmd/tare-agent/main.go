// Command tare-agent is the small program that tare puts into every instance.
// docs/agent.md describes its modes and its protocol. It prints to standard
// error only: standard output may be the stream.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/agent/guest"
	"tare/internal/agent/logdriver"
	"tare/internal/agent/native"
	"tare/internal/agent/observe"
	"tare/internal/agent/server"
	"tare/internal/agent/shim"
)

var version = "unbuilt"

// born is read before main, as near to the first instruction as Go lets it be.
var born = server.Monotonic()

const usage = `tare-agent is put into instances by tare; there is no use in starting it by hand.

  tare-agent stdio [--open DIR]
                         serve on standard input and output; every user may
                         write to DIR
  tare-agent native --root DIR [--cgroup FILE] [--bind SRC:DST[:ro]]
                    [--tmpfs DST]
                         the same in a root of its own on this machine
  tare-agent look PATH...
                         print what links lead to and files hold, as JSON
  tare-agent fingerprint read a request in JSON, and print what the kernel
                         shows of this instance and its servers
  tare-agent logger [--format pipe|file|json-file] [--file FILE]
                         hand standard input on, and write it down
  tare-agent shim PIDFILE COMMAND... -- COMMAND...
                         start a container by the second command, wait for
                         its end, and run the first
  tare-agent init        be a guest's first process (also when called /init)
  tare-agent --version
`

func init() {
	// Package native changes what belongs to a thread, and only the main thread
	// lives on after it.
	runtime.LockOSThread()
	// An idle agent is one of the costs that tare shows, so it keeps small.
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
	var err error
	switch mode {
	case "stdio":
		err = serveStdio(args)
	case "native":
		err = enterNative(args)
	case "look":
		err = observe.ReadPaths(args, os.Stdout)
	case "fingerprint":
		err = observe.Fingerprint(os.Stdin, os.Stdout)
	case "logger":
		err = passOn(args)
	case "shim":
		err = hold(args)
	case "init":
		guest.Run(server.Options{Version: version, Born: born, Stop: stopSignal()})
	case "--version", "-version", "version":
		fmt.Println("tare-agent", version)
	default:
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tare-agent:", err)
		os.Exit(1)
	}
}

// serveStdio serves on what were standard input and output. They are put out of
// everybody else's reach first: a stray print goes to standard error.
func serveStdio(args []string) error {
	flags := flag.NewFlagSet("stdio", flag.ContinueOnError)
	since := flags.Int64("born", int64(born), "monotonic nanoseconds of the first instruction, where another mode came before")
	open := flags.String("open", "", "a folder that servers write to as users of their own")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *open != "" {
		// One that is open already may be somebody else's, as in a container of
		// an engine that is not root.
		if info, err := os.Stat(*open); err != nil || info.Mode().Perm() != 0o777 {
			if err := os.Chmod(*open, 0o777); err != nil {
				return fmt.Errorf("opening the data folder: %w", err)
			}
		}
	}
	environment() // every runtime gives other variables, and some no HOME
	stop := stopSignal()
	in, err := unix.FcntlInt(0, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return fmt.Errorf("taking standard input: %w", err)
	}
	out, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return fmt.Errorf("taking standard output: %w", err)
	}
	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		err = errors.Join(unix.Dup3(null, 0, 0), unix.Dup3(2, 1, 0), unix.Close(null))
	}
	if err != nil {
		return fmt.Errorf("covering standard input and output: %w", err)
	}
	stream := struct {
		io.Reader
		io.Writer
	}{os.NewFile(uintptr(in), "stdin"), os.NewFile(uintptr(out), "stdout")}
	return server.Serve(stream, server.Options{Version: version, Born: time.Duration(*since), Stop: stop})
}

// passOn is a log driver of its own: it ends with its input, and not before.
func passOn(args []string) error {
	flags := flag.NewFlagSet("logger", flag.ContinueOnError)
	format := flags.String("format", "pipe", "pipe, file or json-file")
	file := flags.String("file", "", "where it is written down")
	if err := flags.Parse(args); err != nil {
		return err
	}
	signal.Ignore(unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	return logdriver.Copy(os.Stdin, os.Stdout, *format, *file, time.Now)
}

// hold ends with a container, and as its start did where that failed.
func hold(args []string) error {
	at := slices.Index(args, "--")
	if at < 2 || at == len(args)-1 {
		return fmt.Errorf("shim takes a file, a command, -- and another command, and not %q", args)
	}
	err := shim.Run(args[0], args[at+1:], args[1:at])
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		os.Exit(max(exit.ExitCode(), 1))
	}
	return err
}

// stopSignal turns a polite request to end into an orderly one. SIGPIPE is
// caught and not ignored, since ignoring is what children would inherit.
func stopSignal() <-chan struct{} {
	stop, asked, ignored := make(chan struct{}), make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(asked, unix.SIGTERM, unix.SIGINT, unix.SIGHUP)
	signal.Notify(ignored, unix.SIGPIPE)
	go func() { <-asked; close(stop) }()
	return stop
}

// list is a flag that may be given several times.
type list []string

func (l *list) String() string       { return fmt.Sprint(*l) }
func (l *list) Set(one string) error { *l = append(*l, one); return nil }

func enterNative(args []string) error {
	// When tare is killed the agent is asked to end, and takes its children
	// along; killed itself, it could not.
	if err := unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGTERM), 0, 0, 0); err != nil {
		return fmt.Errorf("asking to end with tare: %w", err)
	}
	var scene native.Config
	flags := flag.NewFlagSet("native", flag.ContinueOnError)
	flags.StringVar(&scene.Root, "root", "/", "the image's folder; / is the host's own root")
	flags.Var((*list)(&scene.Cgroups), "cgroup", "a cgroup.procs or tasks file to enter; may be repeated")
	flags.Var((*list)(&scene.Binds), "bind", "SRC:DST[:ro]; may be repeated")
	flags.Var((*list)(&scene.Tmpfs), "tmpfs", "DST; may be repeated")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("native takes no argument %q", flags.Arg(0))
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("opening the agent's own program: %w", err)
	}
	if err := native.Enter(scene); err != nil {
		return err
	}
	return native.Exec(self, []string{"tare-agent", "stdio", "--born=" + strconv.FormatInt(int64(born), 10)}, environment())
}

// environment is the own one, with the two variables that nothing works without.
func environment() []string {
	for key, value := range map[string]string{"PATH": server.Path, "HOME": "/root"} {
		if os.Getenv(key) == "" {
			os.Setenv(key, value)
		}
	}
	return os.Environ()
}
