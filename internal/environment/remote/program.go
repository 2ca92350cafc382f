package remote

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/cleanup"
	"tare/internal/environment"
)

// Command is the word on tare's command line that makes it the answering side.
const Command = "host"

// ServeIfAsked turns the process into the answering side of a session if its
// command line asks for that, and then does not return. What dials a host is
// copied there as it is: a test program calls this at the beginning of its
// TestMain, tare itself has a hidden command.
func ServeIfAsked() {
	if len(os.Args) < 2 || os.Args[1] != Command {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := Program(ctx, os.Args[2:], os.Getenv("TARE_HOME"), "test"); err != nil {
		fmt.Fprintln(os.Stderr, "tare:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Program is the answering side as a program, on its standard input and output.
func Program(ctx context.Context, args []string, home, version string) error {
	o := ServeOptions{Home: home, Version: version}
	flags := flag.NewFlagSet(Command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.Home, "home", home, "")
	flags.DurationVar(&o.Silence, "silence", Silence, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := os.MkdirAll(o.Home, 0o755); err != nil {
		return fmt.Errorf("tare's home on this host: %w: name a folder that can be written to", err)
	}
	withSystemPath()
	// What an earlier session left whose tare was killed is nobody's any more.
	if swept, err := cleanup.Sweep(ctx, o.Home, environment.Sweepers()...); err != nil || len(swept) > 0 {
		fmt.Fprintf(os.Stderr, "removed what a dead session left: %s (%v)\n", strings.Join(swept, "; "), err)
	}
	// A stream that broke must be an error where it is written to, not an end of
	// the process: there is something to clear.
	signal.Ignore(syscall.SIGPIPE)
	stream, err := standardStream()
	if err != nil {
		return err
	}
	return Serve(ctx, stream, o)
}

// withSystemPath makes the programs of the system's administration found: a
// login without a terminal often has only those for everybody on its PATH.
func withSystemPath() {
	folders := strings.Split(os.Getenv("PATH"), ":")
	for _, folder := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		if !slices.Contains(folders, folder) {
			folders = append(folders, folder)
		}
	}
	os.Setenv("PATH", strings.Trim(strings.Join(folders, ":"), ":"))
}

// standard is the process's standard input and output as one stream.
type standard struct{ in, out *os.File }

// standardStream is one whose Close ends what is being read and written: where
// the link is lost nobody else would ever do that.
func standardStream() (standard, error) {
	var files [2]*os.File
	for fd, name := range []string{"standard input", "standard output"} {
		if err := unix.SetNonblock(fd, true); err != nil {
			return standard{}, fmt.Errorf("the %s: %w", name, err)
		}
		files[fd] = os.NewFile(uintptr(fd), name)
	}
	return standard{files[0], files[1]}, nil
}

func (s standard) Read(p []byte) (int, error)  { return s.in.Read(p) }
func (s standard) Write(p []byte) (int, error) { return s.out.Write(p) }

func (s standard) Close() error {
	err := errors.Join(s.in.Close(), s.out.Close())
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}

// patience of a word that is answered at once.
const patience = 30 * time.Second
