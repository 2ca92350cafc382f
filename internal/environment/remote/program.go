package remote

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/environment"
	"tare/internal/host/cleanup"
	"tare/internal/linux/private"
)

// Command is tare's hidden command that runs the server of a session.
const Command = "host"

// Program runs the server on standard input and output.
func Program(ctx context.Context, args []string, home, version string) error {
	o := ServeOptions{Home: home, Version: version}
	flags := flag.NewFlagSet(Command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.Home, "home", home, "")
	flags.DurationVar(&o.Silence, "silence", Silence, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := private.Make(o.Home); err != nil {
		return fmt.Errorf("making tare's home on this host: %w: name a writable directory", err)
	}
	// An earlier session's tare may have been killed.
	if swept, err := cleanup.Sweep(ctx, o.Home, environment.Sweepers()...); err != nil || len(swept) > 0 {
		fmt.Fprintf(os.Stderr, "removed leftovers of a dead session: %s (%v)\n", strings.Join(swept, "; "), err)
	}
	// Writing to a broken stream must return an error and not end the process,
	// which has to clean up.
	signal.Ignore(syscall.SIGPIPE)
	stream, err := standardStream()
	if err != nil {
		return err
	}
	return Serve(ctx, stream, o)
}

// standard is the process's standard input and output as one stream.
type standard struct{ in, out *os.File }

// standardStream returns a stream whose Close interrupts reads and writes that
// are blocked, as they are when the link is lost.
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

// callTimeout is for calls that are answered at once.
const callTimeout = 30 * time.Second
