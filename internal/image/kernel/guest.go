package kernel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"tare/internal/image/store"
	"time"
)

// guestFormat changes whenever the same agent and kernel result in another
// initramfs than before.
const guestFormat = 1

// Guest is the kernel and initramfs that boot an image's disk in a VM.
type Guest struct {
	Kernel string // bzImage
	// Vmlinux is the uncompressed kernel with a PVH entry point; "" if this
	// kernel has none.
	Vmlinux string
	// Initramfs has the agent as /init and the virtio modules.
	Initramfs string
	Version   string // of the kernel
}

// NewGuest finds a kernel for the host's architecture and builds the initramfs with
// the given agent.
func NewGuest(ctx context.Context, kept store.Directory, choice Choice, agentProgram string, progress func(string)) (*Guest, error) {
	if progress == nil {
		progress = func(string) {}
	}
	agent, err := os.ReadFile(agentProgram)
	if err != nil {
		return nil, fmt.Errorf("agent program for guests: %w", err)
	}
	if err := checkStatic(agentProgram, agent); err != nil {
		return nil, err
	}
	kernel, err := choice.Find(ctx, kept, progress)
	if err != nil {
		return nil, err
	}
	guest := &Guest{
		Kernel:  filepath.Join(kernel.Dir, "bzImage"),
		Version: kernel.Version,
	}
	if unpacked := filepath.Join(kernel.Dir, "vmlinux"); store.Exists(unpacked) {
		guest.Vmlinux = unpacked
	}

	hash := sha256.New()
	fmt.Fprintf(hash, "%d %s\n", guestFormat, strings.Join(guestModules, " "))
	hash.Write(agent)
	name := filepath.Base(kernel.Dir) + "-" + hex.EncodeToString(hash.Sum(nil))[:12]
	guest.Initramfs = kept.Path("guests", name)
	err = kept.Once(ctx, "guest-"+name, guest.Initramfs, func(temporary string) error {
		return WriteInitramfs(temporary, agent, filepath.Join(kernel.Dir, "modules"), guestModules)
	})
	if err != nil {
		return nil, err
	}
	forgetGuests(kept, guest.Initramfs)
	return guest, nil
}

// forgetGuests removes initramfs files that were not used for a month; every
// build of the agent creates one.
func forgetGuests(kept store.Directory, current string) {
	now := time.Now()
	_ = os.Chtimes(current, now, now)
	for _, path := range kept.Glob("guests/*") {
		if now.Sub(store.Modified(path)) > 30*24*time.Hour {
			_ = os.Remove(path)
		}
	}
}
