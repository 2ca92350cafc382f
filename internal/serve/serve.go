// Package serve shows runs in a browser: a list, the report of a run, its progress while
// it is under way, the history of a contrast, two runs side by side. It only reads.
//
// It must not know how a run is executed, nor decide anything: contrasts come from package
// verdict, reports from package report/html. What a client sends never is part of a path:
// a run is found by its identity in the index.
package serve

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
	"time"

	"tare/internal/base/crash"
	"tare/internal/report/model"
	"tare/internal/serve/index"
)

// Options of a server.
type Options struct {
	Address string // to listen on: HOST:PORT
	Token   string // that each request needs; "" for none, on a loopback address only
	Version string
	// Log takes a sentence about what went wrong besides a request.
	Log func(string)
	// Explained finds the runs that explain what a run compares.
	Explained func(model.Input) []model.Explained
}

// Server shows the runs of an index.
type Server struct {
	Options
	runs    *index.Index
	socket  net.Listener
	server  *http.Server
	served  chan error
	reports kept
	closed  context.Context
	close   context.CancelFunc
	busy    chan struct{} // a place for each run that is being read
	events  chan struct{} // a place for each browser that follows a run
}

// The most runs that are read at a time, and browsers that follow one: each run may take
// as much memory as the limits of its files allow.
const (
	readers   = 2
	followers = 64
)

// Listen binds the address. Begin serves.
func Listen(o Options) (*Server, error) {
	host, _, err := net.SplitHostPort(o.Address)
	if err != nil {
		return nil, err
	}
	socket, err := net.Listen("tcp", o.Address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("cannot listen on %s: the port is in use, possibly by another tare serve; choose another port, or 0 for a free one", o.Address)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w; choose an address of this machine, such as 127.0.0.1:8090", o.Address, err)
	}
	if tcp, ok := socket.Addr().(*net.TCPAddr); o.Token == "" && (!ok || !tcp.IP.IsLoopback()) {
		_ = socket.Close()
		return nil, fmt.Errorf("%s can be reached from other machines, and there is no token", o.Address)
	}
	s := &Server{Options: o, socket: socket, served: make(chan error, 1), busy: make(chan struct{}, readers), events: make(chan struct{}, followers)}
	s.closed, s.close = context.WithCancel(context.Background())
	s.server = &http.Server{
		Handler: &guard{host: host, token: o.Token, next: s.pages()}, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second,
		WriteTimeout: 2 * time.Minute, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
		BaseContext: func(net.Listener) context.Context { return s.closed },
	}
	return s, nil
}

// Begin serves the runs of an index.
func (s *Server) Begin(runs *index.Index) {
	s.runs = runs
	crash.Go(func() { s.served <- s.server.Serve(s.socket) })
}

// Loopback reports whether an address is one that other machines cannot reach.
func Loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return false
	}
	found, err := net.ResolveTCPAddr("tcp", address)
	return err == nil && found.IP.IsLoopback()
}

// URL is the address to open, without the token.
func (s *Server) URL() string {
	at := s.socket.Addr().(*net.TCPAddr)
	host := at.IP.String()
	if at.IP.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(at.Port)) + "/"
}

// Close ends the server; requests in progress have a second.
func (s *Server) Close() error {
	if s.runs == nil {
		return s.socket.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	s.close() // ends what follows a run
	err := s.server.Shutdown(ctx)
	if err != nil {
		err = s.server.Close()
	}
	if ended := <-s.served; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
