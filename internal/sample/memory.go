package sample

import "github.com/prometheus/procfs"

// AvailableMemory is how much memory the host could give to new programs now,
// in bytes, as the kernel reckons it: page cache that it could drop counts as
// available, and what several share, or the kernel merges, is taken once.
func AvailableMemory() Figure { return availableMemory("/proc") }

func availableMemory(proc string) Figure {
	fs, err := procfs.NewFS(proc)
	if err != nil {
		return Absent("%v", err)
	}
	info, err := fs.Meminfo()
	if err != nil {
		return Absent("the host's memory: %v", err)
	}
	if info.MemAvailable == nil {
		return Absent("the kernel does not say how much memory is available")
	}
	return Known(float64(*info.MemAvailable) * 1024)
}
