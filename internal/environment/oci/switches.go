package oci

import (
	"slices"
	"strconv"
)

// Switch is one part of the isolation that can be switched separately.
type Switch struct {
	Key  string // as a study names it: "namespaces.pid"
	Name string // for people: "pid namespace"
	// Values from the least isolation to the most.
	Values []string

	flag func(*Options) *bool
	text func(*Options) *string
}

// Get is the switch's value in these options.
func (s Switch) Get(o *Options) string {
	if s.flag != nil {
		return strconv.FormatBool(*s.flag(o))
	}
	return *s.text(o)
}

// Set gives the switch a value, which has to be one of Values, or for seccomp and
// capabilities what the options take.
func (s Switch) Set(o *Options, value string) {
	if s.flag != nil {
		*s.flag(o) = value == "true"
		return
	}
	*s.text(o) = value
}

// Switches are all parts of the isolation, in an order in which they can be
// switched on one after another.
var Switches = []Switch{
	{Key: "namespaces.mount", Name: "mount namespace", flag: func(o *Options) *bool { return &o.Namespaces.Mount }},
	{Key: "namespaces.pid", Name: "pid namespace", flag: func(o *Options) *bool { return &o.Namespaces.PID }},
	{Key: "namespaces.ipc", Name: "ipc namespace", flag: func(o *Options) *bool { return &o.Namespaces.IPC }},
	{Key: "namespaces.uts", Name: "uts namespace", flag: func(o *Options) *bool { return &o.Namespaces.UTS }},
	{Key: "namespaces.cgroup", Name: "cgroup namespace", flag: func(o *Options) *bool { return &o.Namespaces.Cgroup }},
	{Key: "namespaces.user", Name: "user namespace", flag: func(o *Options) *bool { return &o.Namespaces.User }},
	{Key: "namespaces.time", Name: "time namespace", flag: func(o *Options) *bool { return &o.Namespaces.Time }},
	{Key: "cgroup_limits", Name: "cgroup limits", flag: func(o *Options) *bool { return &o.Limits }},
	{Key: "devices", Name: "device filter", flag: func(o *Options) *bool { return &o.Devices }},
	{Key: "root", Name: "root file system", Values: []string{"folder", "bind", "overlay"}, text: func(o *Options) *string { return &o.Root }},
	{Key: "data", Name: "/data", Values: []string{"tmpfs", "bind", "overlay"}, text: func(o *Options) *string { return &o.Data }},
	{Key: "masked", Name: "masked paths", flag: func(o *Options) *bool { return &o.Masked }},
	{Key: "capabilities", Name: "capabilities", Values: []string{"all", "default", "none"}, text: func(o *Options) *string { return &o.Capabilities }},
	{Key: "no_new_privs", Name: "no new privileges", flag: func(o *Options) *bool { return &o.NoNewPrivs }},
	{Key: "seccomp", Name: "seccomp filter", Values: []string{"unconfined", "default"}, text: func(o *Options) *string { return &o.Seccomp }},
	{Key: "network", Name: "network", Values: []string{"host", "none", "bridge", "nat", "user", "pasta"}, text: func(o *Options) *string { return &o.Network }},
	{Key: "log", Name: "log path", Values: []string{"null", "pipe", "file", "json-file"}, text: func(o *Options) *string { return &o.Log }},
}

// GvisorSwitches are the parts of gVisor that can be switched separately.
var GvisorSwitches = []Switch{
	{Key: "gvisor.netstack", Name: "gVisor's network stack", flag: func(o *Options) *bool { return &o.Gvisor.Netstack }},
	{Key: "gvisor.overlay", Name: "gVisor's overlay", flag: func(o *Options) *bool { return &o.Gvisor.Overlay }},
	{Key: "gvisor.shared", Name: "gVisor's /data shared", flag: func(o *Options) *bool { return &o.Gvisor.Shared }},
	{Key: "gvisor.directfs", Name: "gVisor's direct file access", flag: func(o *Options) *bool { return &o.Gvisor.Directfs }},
}

func init() {
	for _, list := range [][]Switch{Switches, GvisorSwitches} {
		for n := range list {
			if list[n].flag != nil {
				list[n].Values = []string{"false", "true"}
			}
		}
	}
}

// FindSwitch finds a switch by its key.
func FindSwitch(key string) (Switch, bool) {
	for _, list := range [][]Switch{Switches, GvisorSwitches} {
		if n := slices.IndexFunc(list, func(s Switch) bool { return s.Key == key }); n >= 0 {
			return list[n], true
		}
	}
	return Switch{}, false
}

// Bare is the least isolation that a runtime can give: every switch at its first
// value.
func Bare() Options {
	o := Default()
	for _, s := range Switches {
		s.Set(&o, s.Values[0])
	}
	return o
}
