package wire

import (
	"cmp"
	"net"
	"net/url"
	"time"

	"tare/internal/base/quantity"
)

// Hello is the agent's first message. An instance is ready when it arrives, in
// every environment alike.
type Hello struct {
	Protocol int `json:"protocol"`
	PID      int `json:"pid"`
	// Uptime is the time since boot, as the instance's kernel reports it, when
	// Hello was sent. In a guest, less AgentTime, it is the kernel's share of the
	// start.
	Uptime time.Duration `json:"uptime"`
	// Clock is the agent's monotonic clock when Hello was sent.
	Clock time.Duration `json:"clock"`
	// AgentTime is the time from the agent's first instruction to Hello. As a
	// guest's init it includes mounting the root file system.
	AgentTime time.Duration `json:"agent_time"`
	Kernel    string        `json:"kernel"`
	CPUs      int           `json:"cpus"`
	// Cores are the CPUs that the agent may use, by their numbers in the instance; those
	// of a NUMA node follow each other, and in it the hyperthreads of a core.
	Cores []int `json:"cores,omitempty"`
	// First is the request number below the first that this client may use. A
	// relay sets it, since several clients share the agent.
	First uint32 `json:"first,omitempty"`
}

// Start requests a command.
type Start struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env,omitempty"`
	Dir  string   `json:"dir,omitempty"`
	User string   `json:"user,omitempty"`
	CPUs []int    `json:"cpus,omitempty"`
	// Stdin is set if Data frames follow, up to an End; otherwise the command
	// reads from /dev/null.
	Stdin bool `json:"stdin,omitempty"`
	// Input is a file of the instance that is the command's standard input instead.
	Input string `json:"input,omitempty"`
	// Stdout and Stderr select the output that is sent. The agent reads the rest
	// from the command's pipe and discards it.
	Stdout bool `json:"stdout,omitempty"`
	Stderr bool `json:"stderr,omitempty"`
	// Joined gives the command one pipe for both outputs, which keeps their
	// order; all of it is sent as Stdout.
	Joined bool `json:"joined,omitempty"`
	// Attached keeps the command's frames, and so its output, on the agent's first
	// stream where there is a second one.
	Attached bool          `json:"attached,omitempty"`
	Timeout  time.Duration `json:"timeout,omitempty"`
}

// Started answers Start.
type Started struct {
	PID int `json:"pid"`
}

// Exit is how a command exited. Times are of the instance's monotonic clock.
type Exit struct {
	Code     int            `json:"code"`             // -1 if a signal killed it
	Signal   string         `json:"signal,omitempty"` // the signal's name, such as SIGKILL
	TimedOut bool           `json:"timed_out,omitempty"`
	Started  time.Duration  `json:"started"`
	Ended    time.Duration  `json:"ended"`
	User     time.Duration  `json:"user"`
	System   time.Duration  `json:"system"`
	MaxRSS   quantity.Bytes `json:"max_rss"`
}

// Elapsed returns the command's wall time by the instance's clock.
func (e Exit) Elapsed() time.Duration { return e.Ended - e.Started }

// OK reports whether the command exited with status 0 before its timeout.
func (e Exit) OK() bool { return e.Code == 0 && e.Signal == "" && !e.TimedOut }

// Signal is a signal for the process group of a command.
type Signal struct {
	Process uint32 `json:"process"` // the request that started the command
	Number  int    `json:"number"`
}

// Probe is a readiness check of a server. Exactly one of TCP, HTTP, Unix and
// Exec is set.
type Probe struct {
	TCP  string   `json:"tcp,omitempty"`  // host:port that accepts a connection
	HTTP string   `json:"http,omitempty"` // URL that returns a status below 500
	Unix string   `json:"unix,omitempty"` // path of a socket that accepts; with HTTP, the one that serves it
	Exec []string `json:"exec,omitempty"` // command that exits with 0
	// Interval between attempts; 0 means 5 ms, which bounds the resolution of
	// the time until a server is ready.
	Interval time.Duration `json:"interval,omitempty"`
	// Timeout after which the probe has failed; 0 means none.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Address returns the host:port of a TCP or HTTP probe, and "" for others.
func (p Probe) Address() string {
	if p.HTTP == "" {
		return p.TCP
	}
	at, err := url.Parse(p.HTTP)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(at.Hostname(), cmp.Or(at.Port(), "80"))
}

// None reports whether nothing is asked.
func (p Probe) None() bool { return p.TCP == "" && p.HTTP == "" && p.Unix == "" && len(p.Exec) == 0 }

// Await requests a probe, repeated until it succeeds, or once.
type Await struct {
	Probe
	Once bool `json:"once,omitempty"`
	// Env, Dir and User are those of its command.
	Env  []string `json:"env,omitempty"`
	Dir  string   `json:"dir,omitempty"`
	User string   `json:"user,omitempty"`
}

// Awaited answers an Await.
type Awaited struct {
	Elapsed time.Duration `json:"elapsed"`
}

// Read requests at most Limit bytes of a file.
type Read struct {
	Path  string `json:"path"`
	Limit int64  `json:"limit"`
}

// Write requests that a file is written; Data frames follow, up to an End.
type Write struct {
	Path string `json:"path"`
	Mode uint32 `json:"mode"` // 0 means 0644
	// Memory makes the file in a directory of the agent's in memory, which ends with
	// it: Path is a name there. Without a mode only the owner can read the file.
	Memory bool   `json:"memory,omitempty"`
	User   string `json:"user,omitempty"` // the owner; "" is root
	// Link is a path from which a symbolic link leads to the file; "" for none.
	Link string `json:"link,omitempty"`
	// Directory makes a directory, if there is none yet, and no file; there is no data.
	Directory bool `json:"directory,omitempty"`
}

// Written answers a Write.
type Written struct {
	Path string `json:"path"`
}

// Clock is the reply to TypeClock.
type Clock struct {
	Clock time.Duration `json:"clock"`
}

// Socket is the reply to TypeSocket: a socket whose peer the agent serves as a second
// stream.
type Socket struct {
	FD    int    `json:"fd"`    // in the agent, until a frame has come over it
	Inode uint64 `json:"inode"` // by which the host recognizes it
}

// Failure is the reply to a request that failed.
type Failure struct {
	Message string `json:"message"`
	// Errno is the system's error number where there is one.
	Errno int `json:"errno,omitempty"`
}
