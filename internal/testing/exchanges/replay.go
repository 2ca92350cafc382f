package exchanges

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"

	"tare/internal/environment/support/microvm"
)

// VMM is what a replay has to know of the VMM that it stands for.
type VMM struct {
	Recorded         string   // the file of the recording
	Boot, Save, Load string   // the requests that run a guest, and write and read a snapshot
	Quit             string   // the request that makes it exit; "": a signal does
	Snapshot         []string // the files of a snapshot
	// Died is what it writes to the descriptor of its events when a guest resets itself; ""
	// is one that has no events, and exits then, and when it refuses a snapshot.
	Died string
}

// Environment variables of a replay: what it replays, and the agent's program.
const (
	Replayed = "TARE_TEST_REPLAYED"
	Agent    = "TARE_TEST_AGENT"
)

// Main makes this process a VMM that answers as recorded, if it was started as one. It
// has no guest: an agent runs in its place, in a directory with no other program.
func (v VMM) Main() {
	if os.Getenv(Replayed) == "" {
		return
	}
	if err := v.replay(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

type replay struct {
	VMM
	left  []Exchange // not yet asked for
	await bool       // the guest waits for the host
	dies  bool       // its kernel finds no program to start
	over  chan error // the end of the guest
}

func (v VMM) replay(args []string) error {
	recording, err := Read(os.Getenv(Replayed))
	if err != nil {
		return err
	}
	if slices.Contains(args, "--version") {
		fmt.Printf("%s v%s\n", recording.Program, recording.Version)
		return nil
	}
	value := func(name string) string { return args[slices.Index(args, name)+1] }
	if slices.Contains(args, "--exec-file") { // it is the jailer
		if err := os.Chdir(filepath.Join(value("--chroot-base-dir"), filepath.Base(value("--exec-file")), value("--id"), "root")); err != nil {
			return err
		}
	}
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	r := &replay{VMM: v, left: recording.Guests[guestOf(dir)], over: make(chan error)}
	l, err := net.Listen("unix", microvm.Socket)
	if err != nil {
		return err
	}
	go func() { r.over <- http.Serve(l, r) }()
	return <-r.over
}

// ServeHTTP answers as it was recorded. Whether the bodies are the recorded ones is for
// the test to check.
func (r *replay) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	body, _ := io.ReadAll(q.Body)
	asked := q.Method + " " + q.URL.Path
	log, err := os.OpenFile(microvm.Log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintln(log, asked)
		log.Close()
	}
	if asked == r.Quit {
		r.over <- nil
	}
	at := slices.IndexFunc(r.left, func(e Exchange) bool { return e.Request == asked })
	if at < 0 {
		http.Error(w, "not recorded", http.StatusNotImplemented)
		return
	}
	answer := r.left[at]
	r.left = slices.Delete(r.left, at, at+1)
	if answer.Status/100 == 2 {
		err = r.do(asked, string(body))
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if len(answer.Answer) > 0 { // whole, though this process may exit
		w.Header().Set("Content-Length", strconv.Itoa(len(answer.Answer)))
	}
	w.WriteHeader(answer.Status)
	_, _ = w.Write(answer.Answer)
	if asked == r.Load && answer.Status/100 != 2 && r.Died == "" {
		_ = http.NewResponseController(w).Flush()
		os.Exit(1)
	}
	if asked == r.Boot && r.dies {
		_ = http.NewResponseController(w).Flush()
		fmt.Println("Kernel panic")
		if r.Died == "" {
			os.Exit(0)
		}
		fmt.Fprint(os.NewFile(3, "events"), r.Died)
	}
}

// do does what tare sees of a request besides its answer.
func (r *replay) do(asked, body string) (err error) {
	r.await = r.await || strings.Contains(body, "tare.await=1")
	r.dies = r.dies || strings.Contains(body, "init=/absent")
	switch asked {
	case r.Save:
		for _, name := range r.Snapshot {
			err = errors.Join(err, os.WriteFile(filepath.Join(microvm.SnapshotDirectory, name), nil, 0o600))
		}
	case r.Load:
		err = r.listen()
	case r.Boot:
		switch {
		case r.dies:
		case r.await:
			err = r.listen()
		default:
			var conn net.Conn
			if conn, err = net.Dial("unix", microvm.VSock+"_1024"); err == nil {
				r.run(conn)
			}
		}
	}
	return err
}

// listen serves connections of the host to its guest.
func (r *replay) listen() error {
	l, err := net.Listen("unix", microvm.VSock)
	if err != nil {
		return err
	}
	go func() {
		var taken atomic.Bool // a guest listens for one at a time
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := bufio.NewReader(conn)
				if line, _ := in.ReadString('\n'); line != "CONNECT 1024\n" || !taken.CompareAndSwap(false, true) {
					return
				}
				defer taken.Store(false)
				fmt.Fprintln(conn, "OK 1")
				if _, err := in.ReadString('\n'); err == nil { // the time
					r.run(conn)
				}
			}()
		}
	}()
	return nil
}

// run runs an agent at a connection. The replay ends with it.
func (r *replay) run(conn net.Conn) {
	file, err := conn.(*net.UnixConn).File()
	if err != nil {
		r.over <- err
		return
	}
	agent := os.Getenv(Agent)
	cmd := exec.Command("/"+filepath.Base(agent), "stdio")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = file, file, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: filepath.Dir(agent), Pdeathsig: syscall.SIGKILL}
	go func() {
		runtime.LockOSThread() // its exit would send the parent-death signal
		_ = cmd.Run()
		r.over <- nil
	}()
}
