package model

import (
	"cmp"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/workload"
)

// load says where the load of each server comes from, over which path, and what that means for
// its figures: what a client on the server's cores costs is part of a comparison. "" where no
// workload has a server.
func (v *Report) load() string {
	var ways, texts []string
	names := map[string][]string{}
	for _, w := range v.Plan.Workloads {
		if v.Manifest.Import != nil || len(w.Pack.Servers) == 0 || w.Pack.Driver == nil {
			continue
		}
		way := loadOf(w.Pack)
		if v.Plan.DrivesOnServersCore(&w) {
			way += ", on the server's core: throughput has the driver's work in it"
		}
		if w.Pack.ClosedLoop {
			way += "; as fast as they are answered: latency is not that at your rate"
		}
		if len(names[way]) == 0 {
			ways = append(ways, way)
		}
		names[way] = append(names[way], w.Name)
	}
	for _, way := range ways {
		texts = append(texts, strings.Join(names[way], ", ")+" driven from "+way)
	}
	return strings.Join(texts, "; ")
}

func loadOf(p workload.Pack) string {
	driver := p.Place(cmp.Or(p.Driver.Role, "driver"))
	servers := lists.Map(p.Servers, func(s workload.Server) string { return p.Place(cmp.Or(s.Role, "server")) })
	switch {
	case driver == workload.OnHost:
		return "the host, over each environment's network"
	case driver == workload.InBaseline:
		return "an instance of the baseline, over the network between the two"
	case driver == workload.Apart || servers[0] != driver:
		return "a second instance of the same environment, over the network between the two"
	}
	return "inside the server's instance, over its loopback: what the client costs there counts too"
}
