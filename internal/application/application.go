// Package application is an application of several services, as plain values: what tare
// needs to know to run them, whatever kind of file says it.
//
// It must not know that file, environments, studies or packs, and it starts nothing.
package application

import (
	"time"

	"tare/internal/base/lists"
)

// Application is the services that its files start, each after those that it depends on.
type Application struct {
	Name     string    // of the project
	Files    []string  // that it was read from, absolute
	Services []Service // in an order in which each follows what it depends on
	// Notes are what the files say that has no effect in a measurement, such as
	// published ports, a sentence each.
	Notes []string
}

// Service is one service of an application.
type Service struct {
	Name  string
	Names []string // by which the other services reach it: its own, aliases, the container's
	// Image is its reference. Built says that it is in the Docker daemon alone, where
	// `docker compose build` stored it.
	Image string
	Built bool
	// Entrypoint and Command replace those of the image where they are not nil. An
	// entrypoint without a command has none of the image's arguments.
	Entrypoint []string
	Command    []string
	User       string // "" is the image's
	Dir        string // "" is the image's
	Env        []string
	// Secrets are variables with secret values. Entrypoint, Command and Env have
	// Hidden(NAME) where their values belong.
	Secrets    []Variable
	Files      []File   // secrets and configs
	Volumes    []Volume // in the order of the file
	Hosts      map[string]string
	Limits     Limits
	Health     *Health // nil: none in the file; the image may have one
	NoHealth   bool    // the file switches the image's off
	DependsOn  []Dependency
	Ports      []int // TCP ports that it publishes or exposes, in this order and the file's
	Published  []int // those that it publishes
	StopSignal string
	StopGrace  time.Duration // 0 is ten seconds
	// Completes: it runs to its end before those after it start.
	Completes bool
	// Of is the service whose instance it prepares; "" for none. Both are in one environment.
	Of string
	// Asks are what it asks of the environment that not every environment has, such as
	// privileged, devices or cap_add, and instances besides the one.
	Asks []Ask
}

// File is a secret or a config: a file in the service's container.
type File struct {
	Target  string // absolute
	Source  string // a file of this machine, absolute; "" where Content has it
	Env     string // the environment variable of the caller with the secret; "" for none
	Key     string // of the value in the manifest that Source is; "" is all of Source
	Content string
	Secret  bool // the content is not to be stored or printed
	UID     string
	GID     string
	Mode    uint32
}

// Volume is a directory that the service does not have from its image.
type Volume struct {
	Kind     string // bind, volume or tmpfs
	Source   string // bind: a path of this machine, absolute; volume: its name, "" if anonymous
	Target   string
	ReadOnly bool
	Empty    bool  // without what the image has there, and open to all users
	Size     int64 // tmpfs: bytes; 0 is no limit
}

// Limits are those of one instance of the service; 0 is none.
type Limits struct {
	CPUs   float64
	Memory int64 // bytes
	PIDs   int64
}

// Health is a check that says when the service is ready.
type Health struct {
	Test        []string // the command; nil is that of the image
	Shell       bool     // Test has one string, for /bin/sh -c
	Port        int      // that accepts connections, where there is no test; 0 is the service's first
	Page        string   // that the port serves by HTTP; "" is none
	Interval    time.Duration
	Timeout     time.Duration
	StartPeriod time.Duration
	Retries     int
}

// The conditions of a dependency.
const (
	Started   = "service_started"
	Healthy   = "service_healthy"
	Completed = "service_completed_successfully"
)

// Dependency is a service that has to be in a condition before another one starts.
type Dependency struct {
	Service   string
	Condition string
}

// Ask is something of the environment that a service needs.
type Ask struct {
	Key  string // as in the file: privileged, cap_add
	What string // the values: NET_ADMIN, SYS_TIME
}

// Service by its name; nil where there is none.
func (a *Application) Service(name string) *Service {
	return lists.Find(a.Services, func(s *Service) bool { return s.Name == name })
}

// Variable is an environment variable with a secret value: that of a key in a manifest.
type Variable struct {
	Name string
	File string // absolute
	Key  string
}

// HiddenBegins begins what stands in the place of a secret value.
const HiddenBegins = "$(secret:"

// Hidden is what stands in a text in the place of the value of a secret variable.
func Hidden(name string) string { return HiddenBegins + name + ")" }
