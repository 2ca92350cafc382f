package native

import (
	"strings"
	"testing"
)

func TestInvalidOptionsAreRejectedByKey(t *testing.T) {
	for _, c := range []struct {
		change func(*Options)
		want   string // "" means that they are fine
	}{
		{func(*Options) {}, ""},
		{func(o *Options) { o.RootFS = "host" }, ""},
		{func(o *Options) { o.Root, o.Data = "overlay", "overlay" }, ""},
		{func(o *Options) { o.Data = "tmpfs" }, ""},
		{func(o *Options) { o.Data = "/dev/sdb1" }, ""},
		{func(o *Options) { o.Network = "nat" }, ""},
		{func(o *Options) { o.RootFS = "" }, `rootfs: "" is not known: choose one of image, host`},
		{func(o *Options) { o.RootFS = "guest" }, "rootfs:"},
		{func(o *Options) { o.Root = "btrfs" }, "root:"},
		{func(o *Options) { o.RootFS, o.Root = "host", "overlay" }, "root: overlay is for the image's"},
		{func(o *Options) { o.Data = "overlay" }, "data: overlay is part of the root's overlay"},
		{func(o *Options) { o.Data = "volume" }, `data: "volume" is not known: choose one of bind, overlay, tmpfs, /dev/...`},
		{func(o *Options) { o.Data = "/srv" }, `data: "/srv" is not a block device`},
		{func(o *Options) { o.Network = "user" }, `network: "user" is not known: choose one of host, loopback, bridge, nat, none`},
	} {
		o := Defaults()
		c.change(&o)
		err := o.Validate()
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}
