package study

import (
	"slices"

	"tare/internal/base/strictyaml"
	"tare/internal/workload"
)

// checkPorts reports servers that are driven from outside their instance at ports
// that the environment does not publish: each trial would fail at its timeout.
func checkPorts(root strictyaml.Node, scaled section, plan *Plan) {
	for _, e := range plan.Environments {
		can := e.Capabilities()
		key, ports := can.PortsOption, can.Ports
		if key == "" {
			continue
		}
		at := root.At("environments", e.Name, key)
		if option, given := scaled.Get(e.Name, key); given {
			at = option
		}
		for _, w := range plan.Workloads {
			if reach := w.unpublished(e, ports); reach != nil {
				at.Problemf("%s: workload %s listens on %s, which is not among %s", key, w.Name, reach, workload.ExposedRole{Ports: ports})
			}
		}
	}
}

// unpublished is the first role, over all levels, that is reached at none of
// the ports; nil where there is none.
func (w Workload) unpublished(e Environment, ports []int) *workload.ExposedRole {
	for _, l := range w.Levels {
		if w.Pack.KnownLimits[e.Kind] != "" {
			continue
		}
		reaches, err := w.Pack.ExposedRoles(e.Parameters(w.Name, l))
		if l.Neighbours > 0 && err == nil {
			var beside []workload.ExposedRole
			beside, err = w.Neighbour.ExposedRoles(l.Neighbour)
			reaches = append(reaches, beside...)
		}
		if err != nil {
			return nil // reported already
		}
		for _, r := range reaches {
			if !slices.ContainsFunc(r.Ports, func(port int) bool { return slices.Contains(ports, port) }) {
				return &r
			}
		}
	}
	return nil
}
