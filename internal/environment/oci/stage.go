package oci

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	specs "github.com/opencontainers/runtime-spec/specs-go"

	"tare/internal/environment"
	"tare/internal/environment/support/blockdevice"
	roots "tare/internal/environment/support/rootfs"
)

// makePoints makes the mount points below a home, in a folder that an overlay
// puts above the image: gVisor would make them in the image.
func makePoints(home string) (string, error) {
	folder := filepath.Join(home, "agent", "points")
	err := os.MkdirAll(filepath.Join(folder, "data"), 0o755)
	if err == nil {
		err = os.MkdirAll(filepath.Join(folder, filepath.Dir(agentInside)), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, agentInside), nil, 0o755)
	}
	if err != nil {
		return "", fmt.Errorf("making the mount points: %w", err)
	}
	return folder, nil
}

// escape is how the mount option of an overlay wants its folders.
var escape = strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`)

// stage is an instance's files: the root's folder, what is mounted in it by the
// runtime, and what the prelude mounts.
type stage struct {
	root, data string
	binds      []string
	mounts     []mount
}

// set makes the files in an instance's folder.
func (e *environ) set(ctx context.Context, r environment.Request, folder string) (*stage, error) {
	image, err := r.Image.Directory(ctx)
	if err != nil {
		return nil, err
	}
	s := &stage{root: filepath.Join(folder, "root"), data: filepath.Join(folder, "data")}
	if err := e.setRoot(s, image, r.Owner.Home(), folder); err != nil {
		return nil, fmt.Errorf("making the root: %w", err)
	}
	// Servers run as users of their own and write there, so everybody may.
	if err = os.Mkdir(s.data, 0o755); err == nil {
		err = os.Chmod(s.data, 0o777)
	}
	if err == nil && blockdevice.Named(e.options.Data) {
		err = blockdevice.Fresh(ctx, e.options.Data, s.data)
		s.mounts = append(s.mounts, mount{"ext4", "nodev", e.options.Data, s.data})
	}
	if err != nil {
		return nil, fmt.Errorf("making what is behind /data: %w", err)
	}
	return s, nil
}

func (e *environ) setRoot(s *stage, image, home, folder string) (err error) {
	if e.options.Root == "overlay" && e.options.gvisor() && e.options.Gvisor.Overlay {
		// gVisor has an overlay of its own above this one, which adds no more than
		// mount points.
		if s.root, err = e.points(home); err != nil {
			return err
		}
		s.mounts = []mount{{"overlay", "ro,lowerdir=" + escape.Replace(s.root) + ":" + escape.Replace(image), "tare", s.root}}
		return nil
	}
	if err := os.Mkdir(s.root, 0o755); err != nil {
		return err
	}
	switch e.options.Root {
	case "folder":
		s.binds, err = roots.Fresh(image, s.root)
		return err
	case "bind":
		s.binds, err = roots.Shown(image, s.root, true)
		return err
	}
	upper, work := filepath.Join(folder, "upper"), filepath.Join(folder, "work")
	for _, dir := range []string{upper, work, filepath.Join(upper, "data")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return err
		}
	}
	s.mounts = []mount{{"overlay", fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", escape.Replace(image), escape.Replace(upper), escape.Replace(work)), "tare", s.root}}
	return nil
}

func write(folder string, s *specs.Spec) error {
	text, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "config.json"), text, 0o644)
	}
	if err != nil {
		return fmt.Errorf("writing the bundle in %s: %w", folder, err)
	}
	return nil
}
