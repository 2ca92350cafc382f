// Package host is a place where commands run: this machine, a machine over SSH,
// or a running instance. It runs a command there, keeps a program there running
// with a stream to it, and puts files there.
//
// It must not know environments, images, workloads or studies.
package host

import (
	"context"
	"io"
	"io/fs"
)

// Host is a place where commands run. It is safe for concurrent use.
type Host interface {
	// Name is what messages and reports call it: "ubuntu@10.0.0.2".
	Name() string
	// Address is the IPv4 address by which other hosts reach it; "" for none.
	Address() string
	// Run runs a command to its end and returns what it printed to its standard
	// output. The error names the command, its exit status and the last lines
	// that it printed to its standard error. Where the context ends first, the
	// command may go on for a while.
	Run(ctx context.Context, argv ...string) ([]byte, error)
	// Open starts a program and returns its standard input and output as one
	// stream. Closing the stream ends the program; the program's end ends the
	// stream. What it prints to its standard error goes to complaints.
	Open(ctx context.Context, complaints io.Writer, argv ...string) (io.ReadWriteCloser, error)
	// Put writes a file, with the folders above it.
	Put(ctx context.Context, path string, mode fs.FileMode, content io.Reader) error
	// Close ends what the host was reached by. A machine runs on.
	Close() error
}
