package usage

import "github.com/prometheus/procfs"

// AvailableMemory returns the kernel's estimate of the memory that new programs
// could use, in bytes (MemAvailable). Page cache that can be dropped counts as
// available, and shared or merged pages count once.
func AvailableMemory() Figure { return availableMemory("/proc") }

func availableMemory(proc string) Figure {
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return Absent("%v", err)
	}
	info, err := fs.Meminfo()
	if err != nil {
		return Absent("reading the host's memory: %v", err)
	}
	if info.MemAvailable == nil {
		return Absent("the kernel does not report available memory (MemAvailable)")
	}
	return Known(float64(*info.MemAvailable) * 1024)
}
