package observe

// Request selects what a fingerprint of an instance contains.
type Request struct {
	// Texts are files, links and directories to read; of a directory, all files.
	Texts []string `json:"texts,omitempty"`
	// Locations are paths whose file system and device are looked up.
	Locations []string `json:"places,omitempty"`
	// Processes that the agent started, by the caller's names for them.
	Processes map[string]int `json:"processes,omitempty"`
	// Programs by their paths, or by their names as a shell looks for them.
	Programs []string `json:"programs,omitempty"`
}

// Answer is what was found. What could not be read is in Absent with the system's
// reason, by its path or, for anything else, by the name of its field.
type Answer struct {
	Texts      map[string]string   `json:"texts"`
	Absent     map[string]string   `json:"absent"`
	System     System              `json:"system"`
	Locations  map[string]Location `json:"places"`
	Processes  map[string]Process  `json:"processes"`
	Programs   map[string]Program  `json:"programs"`
	Interfaces []Interface         `json:"interfaces"`
	// Devices are the device nodes in /dev.
	Devices []string `json:"devices,omitempty"`
	Filter  Filter   `json:"filter"`
}

// System is the result of uname(2), and the page size.
type System struct {
	Node     string `json:"node"`
	Release  string `json:"release"`
	Version  string `json:"version"`
	Machine  string `json:"machine"`
	PageSize int    `json:"page_size"`
}

// Location is the file system and device of a path.
type Location struct {
	Path   string `json:"path"`   // links resolved; of the nearest existing parent
	Device string `json:"device"` // of the file system: 8:1
	Block  int64  `json:"block"`
	// Queue holds the disk's settings by their files' names: scheduler,
	// write_cache, read_ahead_kb.
	Queue map[string]string `json:"queue,omitempty"`
}

// Process is a server, not the shell that started it.
type Process struct {
	// Texts are files and targets of links below /proc/PID, by name.
	Texts map[string]string `json:"texts"`
	// Libraries are the files that are mapped executable.
	Libraries []string `json:"libraries,omitempty"`
	Files     []File   `json:"files,omitempty"`
}

// File is an open file of a process.
type File struct {
	Number int    `json:"number"`
	Target string `json:"target"`
	Flags  string `json:"flags"` // octal, as in /proc/PID/fdinfo
}

// Program is an executable file.
type Program struct {
	Path   string `json:"path,omitempty"` // links resolved
	SHA256 string `json:"sha256,omitempty"`
	// Loader is the dynamic linker, or a script's interpreter.
	Loader string `json:"loader,omitempty"`
	// Package and Version are those of the package that the program belongs to,
	// LoaderPackage and LoaderVersion those of the loader.
	Package       string `json:"package,omitempty"`
	Version       string `json:"version,omitempty"`
	LoaderPackage string `json:"loader_package,omitempty"`
	LoaderVersion string `json:"loader_version,omitempty"`
	Error         string `json:"error,omitempty"`
}

// Interface is a network interface.
type Interface struct {
	Name      string   `json:"name"`
	MTU       int      `json:"mtu"`
	Loopback  bool     `json:"loopback,omitempty"`
	Up        bool     `json:"up,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	Driver    string   `json:"driver,omitempty"`
	Queue     *int     `json:"queue,omitempty"` // packets
	// Offloads that the driver reports; Error is why one could not be read.
	Offloads map[string]bool `json:"offloads,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// Filter is the netfilter state of the network namespace.
type Filter struct {
	// Namespace identifies the network namespace, as in /proc/PID/ns/net.
	Namespace   string  `json:"space,omitempty"`
	Chains      []Chain `json:"chains,omitempty"`
	ChainsError string  `json:"unseen,omitempty"` // why the chains could not be read
	// Tracked is set if conntrack tracks connections over the loopback.
	Tracked      bool   `json:"tracked,omitempty"`
	TrackedError string `json:"untold,omitempty"` // why Tracked could not be determined
}

// Chain is a base chain of netfilter.
type Chain struct {
	Table string `json:"table"`
	Hook  string `json:"hook"`
	// Rules is the number of rules in the chain, without chains that it jumps to.
	Rules int `json:"rules"`
}
