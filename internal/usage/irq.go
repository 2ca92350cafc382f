package usage

import (
	"bufio"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// irqTime returns how the kernel counts time in interrupts and softirqs, by its
// configuration: "apart" from the interrupted thread, "inside" its system time,
// or "" if the configuration cannot be read.
func irqTime(proc string) string {
	if proc != "/proc" {
		return irqTimeOf(proc, "")
	}
	return irqTimeHere()
}

var irqTimeHere = sync.OnceValue(func() string { return irqTimeOf("/proc", "/boot") })

func irqTimeOf(proc, boot string) string {
	if packed, err := os.Open(filepath.Join(proc, "config.gz")); err == nil {
		defer packed.Close()
		if text, err := gzip.NewReader(packed); err == nil {
			return irqTimeIn(text)
		}
	}
	release, err := os.ReadFile(filepath.Join(proc, "sys", "kernel", "osrelease"))
	if err != nil || boot == "" {
		return ""
	}
	text, err := os.Open(filepath.Join(boot, "config-"+strings.TrimSpace(string(release))))
	if err != nil {
		return ""
	}
	defer text.Close()
	return irqTimeIn(text)
}

func irqTimeIn(config io.Reader) string {
	lines, any := bufio.NewScanner(config), false
	for lines.Scan() {
		switch lines.Text() {
		case "CONFIG_IRQ_TIME_ACCOUNTING=y", "CONFIG_VIRT_CPU_ACCOUNTING_NATIVE=y":
			return "apart"
		}
		any = true
	}
	if !any {
		return ""
	}
	return "inside"
}
