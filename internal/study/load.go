package study

import (
	"maps"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
)

// AtLoad is the rate of a level: a share of the baseline's capacity, which is searched by
// another workload of the plan at one of its levels.
type AtLoad struct {
	Share    quantity.Share `json:"share"`
	Workload string         `json:"workload"`
	Level    string         `json:"level,omitempty"`
}

const (
	loadKey = "load"
	// loadSuffix ends the name of the workload that runs at shares of the capacity.
	loadSuffix = "-at-load"
	// leastLoad and mostLoad bound the shares: a load above the capacity has no steady
	// latency, and below a hundredth of it nothing is served.
	leastLoad, mostLoad = .01, 1.
)

// resolveLoad resolves load: into a workload that runs at shares of the baseline's
// capacity, which w searches. It returns nil where there is none.
func resolveLoad(pairs []strictyaml.Pair, w Workload) *Workload {
	i := slices.IndexFunc(pairs, func(p strictyaml.Pair) bool { return p.Key == loadKey })
	if i < 0 {
		return nil
	}
	at := pairs[i].Value
	if w.Find == nil {
		if !slices.ContainsFunc(pairs, func(p strictyaml.Pair) bool { return p.Key == findKey }) {
			at.ProblemAtKey("load: is a share of the baseline's capacity, and needs find: capacity")
		}
		return nil
	}
	items := []strictyaml.Node{at}
	if at.IsSequence() {
		items = at.Items()
	}
	var shares []quantity.Share
	for _, item := range items {
		var share quantity.Share
		item.Decode(&share)
		switch {
		case !(share >= leastLoad && share <= mostLoad):
			item.Problemf("load: needs a share of the capacity from 1%% to 100%%, such as 70%%")
			return nil
		case slices.Contains(shares, share):
			item.Problemf("load: %s is listed twice", share)
			return nil
		}
		shares = append(shares, share)
	}
	if len(shares) == 0 {
		at.Problemf("load: the list is empty")
		return nil
	}
	loaded := w
	loaded.Name, loaded.Find, loaded.Levels = w.Name+loadSuffix, nil, nil
	for _, l := range w.Levels {
		for _, share := range shares {
			own := l
			own.Parameters = maps.Clone(l.Parameters)
			own.Load = &AtLoad{Share: share, Workload: w.Name, Level: l.Name}
			own.Name = strings.TrimPrefix(l.Name+","+loadKey+"="+share.String(), ",")
			loaded.Levels = append(loaded.Levels, own)
		}
	}
	return &loaded
}

// Loaded says whether the workload runs at shares of a capacity.
func (w Workload) Loaded() bool {
	return slices.ContainsFunc(w.Levels, func(l Level) bool { return l.Load != nil })
}

// shareLoads gives the workloads at shares of a capacity the parameters that the search
// has in each environment.
func (p *Plan) shareLoads() {
	for _, w := range p.Workloads {
		if !w.Loaded() {
			continue
		}
		for _, e := range p.Environments {
			if own := e.With[w.Levels[0].Load.Workload]; own != nil && e.With[w.Name] == nil {
				e.With[w.Name] = own
			}
		}
	}
}

// withSearches adds the searches that some workloads need.
func (p *Plan) withSearches(names []string) []string {
	for _, w := range p.Workloads {
		if slices.Contains(names, w.Name) && w.Loaded() {
			names = append(names, lists.Map(w.Levels, func(l Level) string { return l.Load.Workload })...)
		}
	}
	return names
}
