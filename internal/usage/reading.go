package usage

// Reading is one reading of an instance: its usage since the sampling began, and
// what it holds at this moment.
type Reading struct {
	Seconds float64 // since the sampling began

	CPU          Figure // total; user and system are read less often
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

// Kind of a quantity.
type Kind string

// The kinds.
const (
	Counter Kind = "counter" // grows, from 0 at the first reading
	Gauge   Kind = "gauge"   // the value at the reading
)

// Quantity is one thing that is sampled. Series, live metrics, tables and
// dashboards are generated from the one list, so that all have all quantities.
type Quantity struct {
	Name  string // cpu_user: the same in files, metrics and tables
	Unit  string // s, B, or 1 for counts
	Kind  Kind
	About string

	of    func(*Reading) *Figure
	total func(*Usage) Figure
}

// Of returns the quantity's figure in a reading.
func (q Quantity) Of(r *Reading) *Figure { return q.of(r) }

// Total is the quantity's figure of a trial: the total of a counter, the mean of a gauge.
func (q Quantity) Total(u *Usage) Figure { return q.total(u) }

// Quantities are all that is sampled.
var Quantities = []Quantity{
	{"cpu", "s", Counter, "CPU time", func(r *Reading) *Figure { return &r.CPU }, func(u *Usage) Figure { return u.CPU() }},
	{"cpu_user", "s", Counter, "CPU time in user mode", func(r *Reading) *Figure { return &r.CPUUser }, func(u *Usage) Figure { return u.CPUUser }},
	{"cpu_system", "s", Counter, "CPU time in the kernel", func(r *Reading) *Figure { return &r.CPUSystem }, func(u *Usage) Figure { return u.CPUSystem }},
	{"cpu_throttled", "s", Counter, "time throttled by the CPU quota", func(r *Reading) *Figure { return &r.CPUThrottled }, func(u *Usage) Figure { return u.CPUThrottled }},
	{"memory", "B", Gauge, "working set: charged memory without the page cache", func(r *Reading) *Figure { return &r.Memory }, func(u *Usage) Figure { return u.MemoryMean }},
	{"cache", "B", Gauge, "page cache", func(r *Reading) *Figure { return &r.Cache }, func(u *Usage) Figure { return u.CacheMean }},
	{"disk_read", "B", Counter, "bytes read from storage", func(r *Reading) *Figure { return &r.DiskRead }, func(u *Usage) Figure { return u.DiskRead }},
	{"disk_written", "B", Counter, "bytes written to storage", func(r *Reading) *Figure { return &r.DiskWritten }, func(u *Usage) Figure { return u.DiskWritten }},
	{"disk_reads", "1", Counter, "read operations on storage", func(r *Reading) *Figure { return &r.DiskReads }, func(u *Usage) Figure { return u.DiskReads }},
	{"disk_writes", "1", Counter, "write operations on storage", func(r *Reading) *Figure { return &r.DiskWrites }, func(u *Usage) Figure { return u.DiskWrites }},
	{"net_received", "B", Counter, "bytes received", func(r *Reading) *Figure { return &r.NetReceived }, func(u *Usage) Figure { return u.NetReceived }},
	{"net_sent", "B", Counter, "bytes sent", func(r *Reading) *Figure { return &r.NetSent }, func(u *Usage) Figure { return u.NetSent }},
	{"packets_received", "1", Counter, "packets received", func(r *Reading) *Figure { return &r.PacketsIn }, func(u *Usage) Figure { return u.PacketsIn }},
	{"packets_sent", "1", Counter, "packets sent", func(r *Reading) *Figure { return &r.PacketsOut }, func(u *Usage) Figure { return u.PacketsOut }},
	{"switches", "1", Counter, "context switches", func(r *Reading) *Figure { return &r.Switches }, func(u *Usage) Figure { return u.Switches }},
	{"minor_faults", "1", Counter, "page faults that needed no storage", func(r *Reading) *Figure { return &r.MinorFaults }, func(u *Usage) Figure { return u.MinorFaults }},
	{"major_faults", "1", Counter, "page faults that waited for storage", func(r *Reading) *Figure { return &r.MajorFaults }, func(u *Usage) Figure { return u.MajorFaults }},
	{"stall_cpu", "s", Counter, "time in which something waited for a processor (PSI, some)", func(r *Reading) *Figure { return &r.StallCPU }, func(u *Usage) Figure { return u.StallCPU }},
	{"stall_io", "s", Counter, "time in which something waited for storage (PSI, some)", func(r *Reading) *Figure { return &r.StallIO }, func(u *Usage) Figure { return u.StallIO }},
	{"stall_memory", "s", Counter, "time in which something waited for memory (PSI, some)", func(r *Reading) *Figure { return &r.StallMemory }, func(u *Usage) Figure { return u.StallMemory }},
	{"threads", "1", Gauge, "threads", func(r *Reading) *Figure { return &r.Threads }, func(u *Usage) Figure { return u.ThreadsMean }},
	{"processes", "1", Gauge, "processes", func(r *Reading) *Figure { return &r.Processes }, func(u *Usage) Figure { return u.ProcessesMean }},
}
