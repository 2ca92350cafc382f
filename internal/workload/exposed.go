package workload

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"tare/internal/agent"
	"tare/internal/base/lists"
)

// ExposedRole is a role whose servers are exposed to other instances.
type ExposedRole struct {
	Role  string
	Ports []int // TCP ports of the servers' probes; never empty
}

// ExposedRoles returns the roles to which steps in other instances connect, with
// the parameters substituted. Servers whose probe has no port are not included.
func (p Pack) ExposedRoles(parameters map[string]string) ([]ExposedRole, error) {
	set, err := p.With(parameters, InstanceVars{})
	if err != nil {
		return nil, err
	}
	var list []ExposedRole
	for _, role := range set.RoleNames() {
		reach := ExposedRole{Role: role}
		for _, server := range set.Servers {
			if port, _ := strconv.Atoi(probedPortText(server.Ready)); server.Role == role && port > 0 && !slices.Contains(reach.Ports, port) {
				reach.Ports = append(reach.Ports, port)
			}
		}
		if len(reach.Ports) > 0 && p.exposed(role) {
			list = append(list, reach)
		}
	}
	return list, nil
}

// exposed reports whether a step in another instance uses the role's address.
func (p Pack) exposed(role string) bool {
	return slices.ContainsFunc(p.steps(), func(s Step) bool {
		place := p.Place(s.Role)
		if place == p.Place(role) && (place != Apart && place != InBaseline || s.Role == role && p.Roles[role].Count == "") {
			return false
		}
		text := strings.Join(slices.Concat([]string{s.Run}, s.Argv, s.Env), "\n")
		return strings.Contains(text, "${address."+role+"}") || strings.Contains(text, "${addresses."+role+"}")
	})
}

// probedPortText is the port of a probe, or the parameter for it.
func probedPortText(probe agent.Probe) (text string) {
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
	return text
}

// String lists the ports of a role: "13379", "8080 and 8443".
func (r ExposedRole) String() string {
	return strings.Join(lists.Map(r.Ports, func(port int) string { return fmt.Sprint(port) }), " and ")
}
