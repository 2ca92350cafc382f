package workload

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"tare/internal/agent"
)

// ExposedRole is a role whose servers steps in another place connect to.
type ExposedRole struct {
	Role  string
	Ports []int // TCP, at which they are awaited; never empty
}

// ExposedRoles are the roles that are reached from another place, once the
// parameters are in place. Servers whose port cannot be told from how they are
// awaited are not among them.
func (p Pack) ExposedRoles(parameters map[string]string) ([]ExposedRole, error) {
	set, err := p.With(parameters, InstanceVars{})
	if err != nil {
		return nil, err
	}
	var list []ExposedRole
	for _, role := range set.RoleNames() {
		reach := ExposedRole{Role: role}
		for _, server := range set.Servers {
			if port := awaited(server.Ready); server.Role == role && port > 0 && !slices.Contains(reach.Ports, port) {
				reach.Ports = append(reach.Ports, port)
			}
		}
		if len(reach.Ports) > 0 && p.reachedFromElsewhere(role) {
			list = append(list, reach)
		}
	}
	return list, nil
}

// reachedFromElsewhere says whether a step that is not in a role's own instance
// asks for its address.
func (p Pack) reachedFromElsewhere(role string) bool {
	return slices.ContainsFunc(p.steps(), func(s Step) bool {
		place := p.Place(s.Role)
		if place == p.Place(role) && (place != Apart || s.Role == role && p.Roles[role].Count == "") {
			return false
		}
		text := strings.Join(slices.Concat([]string{s.Run}, s.Argv, s.Env), "\n")
		return strings.Contains(text, "${address."+role+"}") || strings.Contains(text, "${addresses."+role+"}")
	})
}

// awaited is the TCP port that a probe asks; 0 where that cannot be told.
func awaited(probe agent.Probe) int {
	text := ""
	switch {
	case probe.TCP != "" || probe.HTTP != "":
		_, text, _ = net.SplitHostPort(probe.Address())
	default:
		for i, word := range probe.Exec {
			if i > 0 && slices.Contains([]string{"-p", "-P", "--port"}, probe.Exec[i-1]) {
				text = word
			}
		}
	}
	port, _ := strconv.Atoi(text)
	return port
}

// String names the ports of a role: "16379", "8080 and 8443".
func (r ExposedRole) String() string {
	var texts []string
	for _, port := range r.Ports {
		texts = append(texts, fmt.Sprint(port))
	}
	return strings.Join(texts, " and ")
}
