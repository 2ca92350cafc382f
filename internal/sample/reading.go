package sample

import "time"

// Options say how an instance is watched.
type Options struct {
	// Every is the time between two looks; 0 means 100 ms.
	Every time.Duration
	// Each is handed every look as it is made, from the watching goroutine; nil
	// for nobody. It must not block.
	Each func(Reading)
}

// Reading is one look at an instance: what has been used since the watching
// began, and what is held at this moment.
type Reading struct {
	Seconds float64 // since the watching began

	CPU          Figure // all of it; how it is divided is asked more seldom
	CPUUser      Figure
	CPUSystem    Figure
	CPUThrottled Figure

	Memory Figure // the working set, without the page cache
	Cache  Figure

	DiskRead, DiskWritten Figure // bytes
	DiskReads, DiskWrites Figure // operations
	NetReceived, NetSent  Figure // bytes
	PacketsIn, PacketsOut Figure
	Switches              Figure // context switches, voluntary or not
	MinorFaults           Figure
	MajorFaults           Figure
	StallCPU, StallIO     Figure // seconds in which something inside waited (PSI, some)
	StallMemory           Figure
	Threads, Processes    Figure
}

// Kind says how a quantity is to be read.
type Kind string

// The kinds.
const (
	Counter Kind = "counter" // grows from 0 at the first look
	Gauge   Kind = "gauge"   // as it is at the look
)

// Quantity is one thing that is watched. Series, live metrics, tables and
// dashboards are all made from the one list, so that none forgets one.
type Quantity struct {
	Name  string // cpu_user: the same in files, metrics and tables
	Unit  string // s, B, or 1 for what is counted
	Kind  Kind
	About string

	of func(*Reading) *Figure
}

// Of is the quantity's place in a reading.
func (q Quantity) Of(r *Reading) *Figure { return q.of(r) }

// Quantities are all that is watched.
var Quantities = []Quantity{
	{"cpu", "s", Counter, "processor time", func(r *Reading) *Figure { return &r.CPU }},
	{"cpu_user", "s", Counter, "processor time in user mode", func(r *Reading) *Figure { return &r.CPUUser }},
	{"cpu_system", "s", Counter, "processor time in the kernel", func(r *Reading) *Figure { return &r.CPUSystem }},
	{"cpu_throttled", "s", Counter, "time held back by a quota while there was work", func(r *Reading) *Figure { return &r.CPUThrottled }},
	{"memory", "B", Gauge, "working set: what is charged, without the page cache", func(r *Reading) *Figure { return &r.Memory }},
	{"cache", "B", Gauge, "page cache", func(r *Reading) *Figure { return &r.Cache }},
	{"disk_read", "B", Counter, "bytes read from storage", func(r *Reading) *Figure { return &r.DiskRead }},
	{"disk_written", "B", Counter, "bytes written to storage", func(r *Reading) *Figure { return &r.DiskWritten }},
	{"disk_reads", "1", Counter, "read operations of storage", func(r *Reading) *Figure { return &r.DiskReads }},
	{"disk_writes", "1", Counter, "write operations of storage", func(r *Reading) *Figure { return &r.DiskWrites }},
	{"net_received", "B", Counter, "bytes received", func(r *Reading) *Figure { return &r.NetReceived }},
	{"net_sent", "B", Counter, "bytes sent", func(r *Reading) *Figure { return &r.NetSent }},
	{"packets_received", "1", Counter, "packets received", func(r *Reading) *Figure { return &r.PacketsIn }},
	{"packets_sent", "1", Counter, "packets sent", func(r *Reading) *Figure { return &r.PacketsOut }},
	{"switches", "1", Counter, "context switches", func(r *Reading) *Figure { return &r.Switches }},
	{"minor_faults", "1", Counter, "page faults that needed no storage", func(r *Reading) *Figure { return &r.MinorFaults }},
	{"major_faults", "1", Counter, "page faults that waited for storage", func(r *Reading) *Figure { return &r.MajorFaults }},
	{"stall_cpu", "s", Counter, "time in which something waited for a processor (PSI, some)", func(r *Reading) *Figure { return &r.StallCPU }},
	{"stall_io", "s", Counter, "time in which something waited for storage (PSI, some)", func(r *Reading) *Figure { return &r.StallIO }},
	{"stall_memory", "s", Counter, "time in which something waited for memory (PSI, some)", func(r *Reading) *Figure { return &r.StallMemory }},
	{"threads", "1", Gauge, "threads", func(r *Reading) *Figure { return &r.Threads }},
	{"processes", "1", Gauge, "processes", func(r *Reading) *Figure { return &r.Processes }},
}
