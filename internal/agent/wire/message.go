package wire

import (
	"cmp"
	"net"
	"net/url"
	"time"

	"tare/internal/quantity"
)

// Hello is the agent's first word. Its arrival is what "ready" means, in every
// environment alike.
type Hello struct {
	Protocol int    `json:"protocol"`
	Version  string `json:"version"`
	PID      int    `json:"pid"`
	// Uptime is the kernel's time since boot as seen inside, at the first word.
	// In a guest, less AgentTime, that is the kernel's share of the start.
	Uptime time.Duration `json:"uptime"`
	// Clock is the agent's monotonic clock at the first word.
	Clock time.Duration `json:"clock"`
	// AgentTime is how long the agent itself took from its first instruction to
	// its first word (mounting the root file system, when it is a guest's init).
	AgentTime time.Duration `json:"agent_time"`
	Kernel    string        `json:"kernel"`
	CPUs      int           `json:"cpus"`
	// First is above what others on the same stream number their requests with;
	// a relay sets it, as the agent answers two sides then.
	First uint32 `json:"first,omitempty"`
}

// Start is a command to start.
type Start struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env,omitempty"`
	Dir  string   `json:"dir,omitempty"`
	User string   `json:"user,omitempty"`
	CPUs []int    `json:"cpus,omitempty"`
	// Stdin says that Data frames follow, up to an End; else the command reads
	// from /dev/null.
	Stdin bool `json:"stdin,omitempty"`
	// Stdout and Stderr say which output the host wants to see. The rest is
	// read from the command's pipe all the same and thrown away.
	Stdout bool `json:"stdout,omitempty"`
	Stderr bool `json:"stderr,omitempty"`
	// Joined gives the command one pipe for both, so that their order is kept;
	// it all comes as Stdout.
	Joined  bool          `json:"joined,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Started answers Start.
type Started struct {
	PID int `json:"pid"`
}

// Exit is how a command ended. Times are the instance's monotonic clock.
type Exit struct {
	Code     int            `json:"code"`             // -1 when a signal ended it
	Signal   string         `json:"signal,omitempty"` // its name, such as SIGKILL
	TimedOut bool           `json:"timed_out,omitempty"`
	Started  time.Duration  `json:"started"`
	Ended    time.Duration  `json:"ended"`
	User     time.Duration  `json:"user"`
	System   time.Duration  `json:"system"`
	MaxRSS   quantity.Bytes `json:"max_rss"`
}

// Elapsed is the command's wall time by the instance's clock.
func (e Exit) Elapsed() time.Duration { return e.Ended - e.Started }

// OK says whether the command ended by itself with status 0.
func (e Exit) OK() bool { return e.Code == 0 && e.Signal == "" && !e.TimedOut }

// Signal goes to the process group of the command that Process started.
type Signal struct {
	Process uint32 `json:"process"` // the request that started it
	Number  int    `json:"number"`
}

// Probe asks whether a server answers. Exactly one of TCP, HTTP, Unix and Exec
// is set.
type Probe struct {
	TCP  string   `json:"tcp,omitempty"`  // host:port accepts a connection
	HTTP string   `json:"http,omitempty"` // URL answers with a status below 500
	Unix string   `json:"unix,omitempty"` // path of a socket that accepts
	Exec []string `json:"exec,omitempty"` // command that exits with 0
	// Interval between attempts; 0 means 5 ms, so that a ready time is no
	// coarser than what it is compared by.
	Interval time.Duration `json:"interval,omitempty"`
	// Timeout after which the probe has failed; 0 means none.
	Timeout time.Duration `json:"timeout,omitempty"`
}

// Address is the host:port that it connects to; "" where it asks otherwise.
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

// Await asks by a probe until it succeeds, or once.
type Await struct {
	Probe
	Once bool `json:"once,omitempty"`
}

// Awaited answers an Await.
type Awaited struct {
	Elapsed time.Duration `json:"elapsed"`
}

// Read asks for at most Limit bytes of a file.
type Read struct {
	Path  string `json:"path"`
	Limit int64  `json:"limit"`
}

// Write announces a file's content.
type Write struct {
	Path string `json:"path"`
	Mode uint32 `json:"mode"` // 0 means 0644
}

// Clock answers TypeClock.
type Clock struct {
	Clock time.Duration `json:"clock"`
}

// Failure ends a request that could not be done.
type Failure struct {
	Message string `json:"message"`
	// Errno is the system's error number where there is one.
	Errno int `json:"errno,omitempty"`
}
