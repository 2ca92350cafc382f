package native

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"tare/internal/environment"
	"tare/internal/environment/support/blockdevice"
	"tare/internal/environment/support/rootfs"
	"tare/internal/linux/fsinfo"
)

// makeRoot makes the root file system with /data and returns the agent's
// arguments for it.
func (i *instance) makeRoot(ctx context.Context, o Options, r environment.Request) ([]string, error) {
	root := filepath.Join(i.Directory(), "root")
	if err := os.Mkdir(root, 0o755); err != nil {
		return nil, err
	}
	binds, err := i.fill(ctx, o, r, root)
	if err != nil {
		return nil, err
	}
	data, err := i.makeData(ctx, o, root)
	if err != nil {
		return nil, err
	}
	arguments, err := o.closing()
	if err != nil {
		return nil, err
	}
	arguments = append([]string{"native", "--root", root}, arguments...)
	if mapping() != nil {
		arguments = append(arguments, "--mapped")
	}
	for _, b := range binds {
		arguments = append(arguments, "--bind", b)
	}
	for _, m := range r.Mounts {
		arguments = append(arguments, "--bind", m.String())
	}
	return append(arguments, data...), nil
}

// fill makes the contents of the root and returns the bind mounts that the agent makes.
func (i *instance) fill(ctx context.Context, o Options, r environment.Request, directory string) (binds []string, err error) {
	if o.RootFS == "host" {
		i.Route.Root, i.Route.RootOn = "the host's own", fsinfo.Of("/")
		return rootfs.Shown("/", directory, false)
	}
	image, err := r.Image.Directory(ctx)
	if err != nil {
		return nil, err
	}
	i.Route.RootOn = fsinfo.Of(i.Directory())
	if below := fsinfo.Of(image); below != i.Route.RootOn {
		i.Route.RootOn += ", the image's programs " + below
	}
	if o.Root == "overlay" {
		i.Route.Root = "overlay"
		return nil, i.overlay(image, directory)
	}
	i.Route.Root = "directory, the image's programs mounted from the image"
	return i.fresh(r.Owner.Home(), image, directory)
}

// overlay mounts an overlay with the image as its lower directory.
func (i *instance) overlay(image, directory string) error {
	_, options, err := rootfs.Overlay(image, i.Directory())
	if err != nil {
		return err
	}
	if err := unix.Mount("tare", directory, "overlay", 0, options); err != nil {
		return fmt.Errorf("mounting an overlay (%s): %w; tare's home must be on a file system that can hold the upper directory of an overlay, which overlayfs itself cannot", options, err)
	}
	i.Undo(func() error { return blockdevice.Unmount(directory) })
	return rootfs.HostNames(directory)
}

// makeData makes /data, writable by all.
func (i *instance) makeData(ctx context.Context, o Options, root string) (arguments []string, err error) {
	i.disk = i.Directory()
	switch o.Data {
	case "tmpfs":
		i.Route.Data, i.Route.DataOn = "tmpfs", environment.Memory
		i.disk = environment.Memory
		return []string{"--tmpfs", "/data"}, nil
	case "overlay":
		i.Route.Data, i.Route.DataOn = i.Route.Root, fsinfo.Of(i.Directory())
		return nil, rootfs.Data(root)
	}
	directory := filepath.Join(i.Directory(), "data")
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return nil, err
	}
	if err := os.Chmod(directory, 0o777); err != nil {
		return nil, err
	}
	i.Route.Data, i.Route.DataOn = "bind mount of a directory", fsinfo.Of(directory)
	if blockdevice.Named(o.Data) {
		if err := blockdevice.Mount(ctx, o.Data, directory); err != nil {
			return nil, err
		}
		i.Undo(func() error { return blockdevice.Unmount(directory) })
		i.disk = directory
		i.Route.Data, i.Route.DataOn = "ext4 on the block device, bind mount", fsinfo.Device(o.Data)
	}
	return []string{"--bind", directory + ":/data"}, nil
}
