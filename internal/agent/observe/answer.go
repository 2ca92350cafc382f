package observe

// Request is what a fingerprint wants to know of an instance.
type Request struct {
	// Texts are files and links to be read. Of a folder all files in it are.
	Texts []string `json:"texts,omitempty"`
	// Locations are paths of which it is asked what they lie on.
	Locations []string `json:"places,omitempty"`
	// Processes that the agent started, by the caller's names for them.
	Processes map[string]int `json:"processes,omitempty"`
	// Programs by their paths, or by their names as a shell looks for them.
	Programs []string `json:"programs,omitempty"`
}

// Answer is what was there. What could not be read is in Absent, with the
// system's reason: a path by itself, anything else by the name of its field.
type Answer struct {
	Texts      map[string]string   `json:"texts"`
	Absent     map[string]string   `json:"absent"`
	System     System              `json:"system"`
	Locations  map[string]Location `json:"places"`
	Processes  map[string]Process  `json:"processes"`
	Programs   map[string]Program  `json:"programs"`
	Interfaces []Interface         `json:"interfaces"`
	Filter     Filter              `json:"filter"`
}

// System is what uname says, and the size of a page.
type System struct {
	Node     string `json:"node"`
	Release  string `json:"release"`
	Version  string `json:"version"`
	Machine  string `json:"machine"`
	PageSize int    `json:"page_size"`
}

// Location is what a path lies on.
type Location struct {
	Path   string `json:"path"`   // without links; of the folder above, where there is no such file yet
	Device string `json:"device"` // of the file system: 8:1
	Block  int64  `json:"block"`
	// Queue holds the disk's settings by their files' names: scheduler,
	// write_cache, read_ahead_kb.
	Queue map[string]string `json:"queue,omitempty"`
}

// Process is a server: not the shell that it was started by.
type Process struct {
	// Files below /proc/PID, and what links there lead to, by their names.
	Texts map[string]string `json:"texts"`
	// Libraries are the files that it has code from.
	Libraries []string `json:"libraries,omitempty"`
	Files     []File   `json:"files,omitempty"`
}

// File is one that a process has open.
type File struct {
	Number int    `json:"number"`
	Target string `json:"target"`
	Flags  string `json:"flags"` // octal, as the kernel prints them
}

// Program is an executable file.
type Program struct {
	Path   string `json:"path,omitempty"` // without links
	SHA256 string `json:"sha256,omitempty"`
	// Loader is what the kernel starts it with: a dynamic linker, or a script's
	// interpreter.
	Loader string `json:"loader,omitempty"`
	// Package and Version are of the package that it came in, and LoaderPackage
	// and LoaderVersion of the loader's.
	Package       string `json:"package,omitempty"`
	Version       string `json:"version,omitempty"`
	LoaderPackage string `json:"loader_package,omitempty"`
	LoaderVersion string `json:"loader_version,omitempty"`
	Error         string `json:"error,omitempty"`
}

// Interface is one of the network's.
type Interface struct {
	Name      string   `json:"name"`
	MTU       int      `json:"mtu"`
	Loopback  bool     `json:"loopback,omitempty"`
	Up        bool     `json:"up,omitempty"`
	Addresses []string `json:"addresses,omitempty"`
	Driver    string   `json:"driver,omitempty"`
	Queue     *int     `json:"queue,omitempty"` // packets
	// Offloads that the driver tells of; Error says why it tells of none.
	Offloads map[string]bool `json:"offloads,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// Filter is what packets of the network namespace pass.
type Filter struct {
	// Namespace is the namespace, as the kernel calls it inside and outside alike.
	Namespace   string  `json:"space,omitempty"`
	Chains      []Chain `json:"chains,omitempty"`
	ChainsError string  `json:"unseen,omitempty"` // why the chains are not known
	// Tracked: the kernel tracks connections over the loopback.
	Tracked      bool   `json:"tracked,omitempty"`
	TrackedError string `json:"untold,omitempty"` // why that is not known
}

// Chain is a list of rules that packets pass at a hook.
type Chain struct {
	Table string `json:"table"`
	Hook  string `json:"hook"`
	// Rules of the chain itself, without those of others that it jumps to.
	Rules int `json:"rules"`
}
