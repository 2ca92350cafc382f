package workload

import (
	"strconv"
	"strings"
	"time"

	"tare/internal/agent"
	"tare/internal/image/origin"
)

// healthInterval is the time between attempts of a health check. Compose's are seconds,
// which a sample does not wait for, and a check can use more CPU time than the service.
const healthInterval = 100 * time.Millisecond

// of completes the health check with what the image says.
func (s *Server) of(c origin.Config) {
	if s.Health == nil {
		return
	}
	h := *s.Health
	if h.Exec == nil && !h.NotImage && len(c.Health) > 1 {
		switch c.Health[0] {
		case "CMD":
			h.Exec = c.Health[1:]
		case "CMD-SHELL":
			h.Exec = []string{"/bin/sh", "-c", c.Health[1]}
		}
	}
	for _, exposed := range c.Ports {
		port, protocol, _ := strings.Cut(exposed, "/")
		if n, err := strconv.Atoi(port); err == nil && h.Port == 0 && (protocol == "tcp" || protocol == "") {
			h.Port = n
		}
	}
	if len(h.Exec) == 0 && h.Port > 0 && s.Ready.None() {
		at := "${address}:" + strconv.Itoa(h.Port)
		if s.Ready = (agent.Probe{TCP: at, Timeout: h.Timeout}); h.Page != "" {
			s.Ready.TCP, s.Ready.HTTP = "", "http://"+at+Literal(h.Page)
		}
	}
	s.Health = &h
}

// Probe is the command of the check; none where it has none.
func (h *Health) Probe() (probe agent.Probe) {
	if h != nil && len(h.Exec) > 0 {
		probe = agent.Probe{Exec: h.Exec, Interval: healthInterval, Timeout: h.Timeout}
	}
	return probe
}
