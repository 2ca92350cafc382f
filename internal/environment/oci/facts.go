package oci

import (
	"fmt"
	"path/filepath"
)

// Facts of a start that only the command lines know.
func (i *instance) Facts() map[string]string {
	o := &i.environ.options
	facts := map[string]string{
		"log.channel": "pipe", "log.driver": "none",
		"provider[runtime]": filepath.Base(o.Runtime),
		"provider[devices]": map[bool]string{true: "a few", false: "all"}[o.Devices],
	}
	if o.Log != "null" {
		facts["log.channel"] = "pipe, a process of the log, pipe"
		if o.Log != "pipe" {
			facts["log.driver"] = o.Log
		}
	}
	if o.gvisor() {
		facts["provider[platform]"] = o.Platform
		if o.Platform == "" {
			facts["provider[platform]"] = "systrap"
		}
		facts["provider[gvisor]"] = fmt.Sprintf("netstack %t, overlay %t, directfs %t, shared %t",
			o.Gvisor.Netstack && o.Network != "host", o.Gvisor.Overlay, o.Gvisor.Directfs, o.Gvisor.Shared)
	}
	return facts
}
