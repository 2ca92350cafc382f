package oci

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"tare/internal/environment"
	"tare/internal/environment/support/blockdevice"
	roots "tare/internal/environment/support/rootfs"
)

// makePoints makes the mount points in a directory below a home. An overlay puts it
// above the image, since gVisor would create them in the image itself.
func makePoints(home string) (string, error) {
	return fillPoints(filepath.Join(home, "agent", "points"))
}

func fillPoints(directory string) (string, error) {
	err := os.MkdirAll(filepath.Join(directory, "data"), 0o755)
	if err == nil {
		err = os.MkdirAll(filepath.Join(directory, filepath.Dir(agentInside)), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(directory, agentInside), nil, 0o755)
	}
	if err != nil {
		return "", fmt.Errorf("making the mount points: %w", err)
	}
	return directory, nil
}

// instanceFiles are the directories of an instance, the bind mounts that the runtime
// makes in the root, and the mounts that the prelude makes.
type instanceFiles struct {
	root, data string
	binds      []string
	mounts     []mount
	given      []environment.Mount // of the request
}

// makeFiles makes the files in an instance's directory.
func (e *environ) makeFiles(ctx context.Context, r environment.Request, directory string) (*instanceFiles, error) {
	s := &instanceFiles{root: filepath.Join(directory, "root"), data: filepath.Join(directory, "data"), given: r.Mounts}
	if e.manager != nil {
		s.root = "rootfs" // in the manager's bundle
	} else {
		image, err := r.Image.Directory(ctx)
		if err != nil {
			return nil, err
		}
		if err := e.makeRoot(s, image, r.Owner.Home(), directory); err != nil {
			return nil, fmt.Errorf("making the root: %w", err)
		}
	}
	// Writable by all: servers run as other users.
	err := os.Mkdir(s.data, 0o755)
	if err == nil {
		err = os.Chmod(s.data, 0o777)
	}
	if err == nil && blockdevice.Named(e.options.Data) {
		err = blockdevice.Fresh(ctx, e.options.Data, s.data)
		s.mounts = append(s.mounts, mount{"ext4", "nosuid,nodev", e.options.Data, s.data})
	}
	if err != nil {
		return nil, fmt.Errorf("making the directory for /data: %w", err)
	}
	return s, nil
}

func (e *environ) makeRoot(s *instanceFiles, image, home, directory string) (err error) {
	if e.options.Root == "overlay" && e.options.gvisor() && e.options.Gvisor.Overlay {
		// gVisor's overlay is above this one, which only adds the mount points: those of
		// every instance, or also its own.
		if len(s.given) == 0 {
			s.root, err = e.points(home)
		} else if _, err = fillPoints(s.root); err == nil {
			err = s.points(image)
		}
		s.mounts = []mount{{"overlay", "ro,lowerdir=" + roots.Escape(s.root) + ":" + roots.Escape(image), "tare", s.root}}
		return err
	}
	if err := os.Mkdir(s.root, 0o755); err != nil {
		return err
	}
	switch e.options.Root {
	case "folder":
		if s.binds, err = roots.Fresh(image, s.root); err != nil {
			return err
		}
		return s.points(image)
	case "bind":
		s.binds, err = roots.Shown(image, s.root, true)
		return err
	}
	upper, options, err := roots.Overlay(image, directory)
	if err != nil {
		return err
	}
	s.mounts = []mount{{"overlay", options, "tare", s.root}}
	return os.Mkdir(filepath.Join(upper, "data"), 0o755)
}

// points makes the mount points of the request's mounts in the root; one without a source is
// a directory, as the root is. On a writable overlay
// the runtime makes them.
func (s *instanceFiles) points(image string) error {
	for _, m := range s.given {
		if err := roots.MountPoint(image, s.root, cmp.Or(m.From, s.root), m.To); err != nil {
			return err
		}
	}
	return nil
}

func write(directory string, s *specs.Spec) error {
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(filepath.Join(directory, "config.json"), text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing the bundle in %s: %w", directory, err)
	}
	return nil
}
