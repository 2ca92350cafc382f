package study

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"tare/internal/base/lists"
	"tare/internal/base/quantity"
	"tare/internal/base/strictyaml"
	"tare/internal/workload"
	"tare/internal/workload/capacity"
)

// Find is the search for the capacity of a workload: the highest rate that holds an
// objective.
type Find struct {
	Objective string            `json:"objective"` // as written
	Criteria  capacity.Criteria `json:"criteria"`
	// Metrics are those of each probe. The workload's are those of a whole search.
	Metrics []workload.Metric `json:"metrics"`
}

// The keys of a workload whose capacity is searched.
const (
	findKey      = "find"
	objectiveKey = "objective"
)

// resolveFind resolves find: and objective:. It returns nil where nothing is searched.
func resolveFind(pairs settings, pack *workload.Pack, levels []Level) *Find {
	find, objective := pairs.at(findKey), pairs.at(objectiveKey)
	if !find.Exists() {
		if objective.Exists() {
			objective.ProblemAtKey("objective: has no effect without find: capacity")
		}
		return nil
	}
	var what string
	if find.Decode(&what); what != workload.Capacity {
		find.Problemf("find: %s", strictyaml.Unknown("word", what, []string{workload.Capacity}))
		return nil
	}
	if pack.OpenLoop == nil {
		find.Problemf("find: workload %s has no open loop: its driver does not send at a given rate. Workloads that have one: %s; a pack of your own says so with open_loop", pack.Name, strings.Join(openLoops(), ", "))
		return nil
	}
	if pack.FromStart() {
		find.Problemf("find: workload %s measures the start of instances", pack.Name)
		return nil
	}
	if rate := pairs.at(pack.OpenLoop.Rate); rate.IsSequence() || rate.IsMapping() {
		rate.Problemf("%s: find: capacity searches it; write one value, the first rate that is tried", pack.OpenLoop.Rate)
	}
	if slices.ContainsFunc(levels, func(l Level) bool { return l.Instances > 1 }) {
		pairs.at("instances").Problemf("instances: find: capacity searches the rate of one copy")
	}
	var text string
	if objective.Exists() {
		objective.Decode(&text)
	}
	if text == "" {
		find.Problemf("objective: is missing; it says what the capacity has to hold, such as objective: %s", capacity.Example)
		return nil
	}
	bounds, err := capacity.ParseObjective(text)
	if err != nil {
		objective.Problemf("objective: %s", err)
		return nil
	}
	f := &Find{Objective: strings.Join(lists.Map(bounds, capacity.Bound.String), ", ")}
	for _, b := range bounds {
		if err := f.add(b, pack); err != nil {
			objective.Problemf("objective: %s", err)
			return nil
		}
	}
	l := pack.OpenLoop
	f.Criteria.Sent, f.Criteria.Growth, f.Criteria.Answered = l.Sent, l.Growth, l.Answered
	for _, field := range []string{l.Sent, l.Growth, l.Answered} {
		f.measure(workload.Metric{Name: field, Unit: "op/s", Better: "higher"})
	}
	if operations := pack.Metric(pack.Operations); operations != nil {
		f.measure(*operations)
	}
	return f
}

// openLoops are the built-in workloads whose capacity can be searched.
func openLoops() []string {
	return lists.Filter(workload.Names(), func(name string) bool {
		p, err := workload.Find(name)
		return err == nil && p.OpenLoop != nil
	})
}

func (f *Find) add(b capacity.Bound, pack *workload.Pack) error {
	l, term := pack.OpenLoop, capacity.Term{Text: b.String(), AtLeast: b.AtLeast}
	m := pack.Metric(b.Name)
	percent, is := b.Percentile()
	switch {
	case is:
		own := pack.Metric(l.Latency).AtPercentile(percent)
		m = &own
		if l.Delay != "" {
			delay := pack.Metric(l.Delay).AtPercentile(percent)
			term.Delay = delay.Name
			f.measure(delay)
		}
	case b.Name == "errors" && l.Errors != "":
		m = &workload.Metric{Name: l.Errors, Unit: "1", Better: "lower"}
	case b.Name == capacity.CPU && m == nil:
		m = &workload.Metric{Name: capacity.CPU, Unit: "%"}
	case m == nil || !m.FromOutput():
		known := []string{"p50", "p99", "p99.9", capacity.CPU}
		if l.Errors != "" {
			known = append(known, "errors")
		}
		for _, m := range pack.Metrics {
			if m.FromOutput() {
				known = append(known, m.Name)
			}
		}
		return errors.New(strictyaml.Unknown("metric", b.Name, known))
	}
	var err error
	term.Metric = m.Name
	if term.Limit, err = b.In(m.Unit); err != nil {
		return err
	}
	f.Criteria.Terms = append(f.Criteria.Terms, term)
	if m.Name != capacity.CPU { // the driver does not print it
		f.measure(*m)
	}
	return nil
}

// measure adds a metric of the probes, unless it is there or has no name.
func (f *Find) measure(m workload.Metric) {
	if m.Primary = false; m.Name != "" && !slices.ContainsFunc(f.Metrics, func(other workload.Metric) bool { return other.Name == m.Name }) {
		f.Metrics = append(f.Metrics, m)
	}
}

// metrics are those of a whole search, beside the costs: the capacity, and the
// operations that costs are divided by.
func (f *Find) metrics(pack *workload.Pack) []workload.Metric {
	all := []workload.Metric{{
		Name: workload.Capacity, Unit: "op/s", Better: "higher", Primary: true,
		About: "highest rate at which half of the probes hold " + f.Objective,
	}}
	if operations := pack.Metric(pack.Operations); operations != nil {
		m := *operations
		m.Primary = false
		all = append(all, m)
	}
	return all
}

// ProbePack is the pack as each sample is read: with the metrics that a probe, or the
// driver at a share of the capacity, is judged by.
func (w Workload) ProbePack() workload.Pack {
	pack := w.Pack
	switch {
	case w.Find != nil:
		pack.Metrics = w.Find.Metrics
	case w.Loaded() && pack.Metric(pack.OpenLoop.Sent) == nil:
		pack.Metrics = append(slices.Clone(pack.Metrics), workload.Metric{Name: pack.OpenLoop.Sent, Unit: "op/s", Better: "higher"})
	}
	return pack
}

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
func resolveLoad(pairs settings, w Workload) *Workload {
	at := pairs.at(loadKey)
	if !at.Exists() {
		return nil
	}
	if w.Find == nil {
		if !pairs.at(findKey).Exists() {
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
