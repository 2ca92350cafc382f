package image

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// Guest finds a kernel for the host's architecture and builds the initramfs with
// the given agent. It does not depend on an image's content.
func (s *Store) Guest(ctx context.Context, choice Kernel, agentProgram string, progress func(string)) (*Guest, error) {
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
	kernel, err := s.kernel(ctx, choice, progress)
	if err != nil {
		return nil, err
	}
	guest := &Guest{
		Kernel:  filepath.Join(kernel.dir, "bzImage"),
		Version: kernel.version,
	}
	if unpacked := filepath.Join(kernel.dir, "vmlinux"); exists(unpacked) {
		guest.Vmlinux = unpacked
	}

	hash := sha256.New()
	fmt.Fprintf(hash, "%d %s\n", guestFormat, strings.Join(guestModules, " "))
	hash.Write(agent)
	name := filepath.Base(kernel.dir) + "-" + hex.EncodeToString(hash.Sum(nil))[:12]
	guest.Initramfs = s.path("guests", name)
	err = s.once(ctx, "guest-"+name, guest.Initramfs, func(temporary string) error {
		modules, err := collectModules(filepath.Join(kernel.dir, "modules"), guestModules)
		if err != nil {
			return err
		}
		file, err := os.OpenFile(temporary, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
		if err != nil {
			return fmt.Errorf("initramfs: %w", explain(err))
		}
		defer file.Close()
		if err := writeInitramfs(file, agent, modules); err != nil {
			return err
		}
		return file.Close()
	})
	if err != nil {
		return nil, err
	}
	s.forgetGuests(guest.Initramfs)
	return guest, nil
}

// Guest returns the kernel and initramfs that boot this image's disk in a VM.
func (i *Image) Guest(ctx context.Context, agentProgram string, progress func(string)) (*Guest, error) {
	if err := i.check(); err != nil {
		return nil, err
	}
	return i.store.Guest(ctx, i.kernel, agentProgram, progress)
}

// forgetGuests removes initramfs files that were not used for a month; every
// build of the agent creates one.
func (s *Store) forgetGuests(current string) {
	now := time.Now()
	_ = os.Chtimes(current, now, now)
	old, _ := filepath.Glob(s.path("guests", "*"))
	for _, path := range old {
		if now.Sub(modified(path)) > 30*24*time.Hour {
			_ = os.Remove(path)
		}
	}
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
