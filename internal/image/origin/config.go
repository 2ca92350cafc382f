package origin

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/moby/sys/signal"
	"golang.org/x/sys/unix"
)

// Config is how an image's own metadata says that it is started, besides its environment
// and working directory.
type Config struct {
	Entrypoint []string `json:"entrypoint,omitempty"`
	Cmd        []string `json:"cmd,omitempty"`
	User       string   `json:"user,omitempty"`    // name or uid, with :group; "" is root
	Ports      []string `json:"ports,omitempty"`   // exposed: 80/tcp
	Volumes    []string `json:"volumes,omitempty"` // directories that an engine puts outside of the root
	// StopSignal is the name of a signal, or the number of one without a name; "" is SIGTERM.
	StopSignal string `json:"stop_signal,omitempty"`
	// Health is the test of the health check, as its first word says: CMD or CMD-SHELL;
	// none if empty.
	Health []string `json:"health,omitempty"`
}

// Command is what an engine starts: the entrypoint with its arguments.
func (c Config) Command() []string { return slices.Concat(c.Entrypoint, c.Cmd) }

func newConfig(from v1.Config) (*Config, error) {
	c := &Config{
		Entrypoint: from.Entrypoint, Cmd: from.Cmd, User: from.User,
		Ports: slices.Sorted(maps.Keys(from.ExposedPorts)), Volumes: slices.Sorted(maps.Keys(from.Volumes)),
	}
	if h := from.Healthcheck; h != nil && len(h.Test) > 0 && h.Test[0] != "NONE" {
		c.Health = h.Test
	}
	if from.StopSignal == "" {
		return c, nil
	}
	// As engines take it: a name, with or without SIG, or a number; systemd's is one of
	// the real-time signals, SIGRTMIN+3.
	number, err := signal.ParseSignal(from.StopSignal)
	if err != nil || !signal.ValidSignalForPlatform(number) {
		return nil, fmt.Errorf("its configuration has the stop signal %q, which is not a signal", from.StopSignal)
	}
	if c.StopSignal = unix.SignalName(number); c.StopSignal == "" {
		c.StopSignal = strconv.Itoa(int(number))
	}
	return c, nil
}
