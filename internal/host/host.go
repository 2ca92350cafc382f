// Package host runs commands on a machine over SSH and in a running instance: it runs
// a command to its end, keeps a program running with a stream to it, and writes
// files.
//
// It must not know environments, images, workloads or studies.
package host

import (
	"context"
	"io"
	"io/fs"
)

// Host is where commands run. It is safe for concurrent use.
type Host interface {
	// Name identifies the host in messages and reports: "ubuntu@10.0.0.2".
	Name() string
	// Address is the IPv4 address by which other hosts reach it; "" for none.
	Address() string
	// Run runs a command to its end and returns its standard output. The error
	// names the command, its exit status and the last lines of its standard
	// error. When the context ends first, Run returns, and the command may go on.
	Run(ctx context.Context, argv ...string) ([]byte, error)
	// Open starts a program and returns its standard input and output as one
	// stream. Closing the stream ends the program, and the stream ends with the
	// program. Its standard error is written to stderr.
	Open(ctx context.Context, stderr io.Writer, argv ...string) (io.ReadWriteCloser, error)
	// Put writes a file and makes the directories above it.
	Put(ctx context.Context, path string, mode fs.FileMode, content io.Reader) error
	// Close releases the connection to the host.
	Close() error
}
