package prices

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"tare/internal/study"
)

// Prediction is what an environment would add to one operation of a profile.
type Prediction struct {
	Environment string `json:"environment"`
	Kind        string `json:"kind"`
	Options     string `json:"options,omitempty"` // that differ from the kind's defaults
	Label       string `json:"label,omitempty"`
	// MoreCPU and MoreTime of an operation, in nanoseconds: the CPU time of the whole
	// environment, and the time where one thing is done after another.
	MoreCPU  Amount `json:"more_cpu_ns"`
	MoreTime Amount `json:"more_time_ns"`
	// Rate over that of the baseline where the processors are the limit.
	Rate Amount `json:"rate"`
	// Load there, where the profile is of one.
	Load *LoadThere `json:"load,omitempty"`
	// Items add up to MoreCPU, the largest first.
	Items []Share `json:"items"`
	// Changes of the environment's options and of the program that would make it cheaper
	// there, the largest first.
	Changes []Change `json:"changes,omitempty"`
	// Unpriced are the items of the profile that have no price there.
	Unpriced []string `json:"unpriced,omitempty"`
}

// Share is what one item of a profile adds.
type Share struct {
	Name string  `json:"name"`
	CPU  float64 `json:"more_cpu_ns"`
	Time float64 `json:"more_time_ns"`
}

// UserTime is the item of the program's own work.
const UserTime = "the program's own work"

// Predict what each environment of the list would add to the profile's operation.
func (l List) Predict(p Profile) (all []Prediction) {
	for _, e := range l.Environments {
		all = append(all, l.predict(p, e))
	}
	for i := range all {
		all[i].Changes = append(all[i].Changes, l.otherOptions(p, l.Environments[i])...)
		slices.SortStableFunc(all[i].Changes, func(a, b Change) int { return cmp.Compare(b.Saves, a.Saves) })
		all[i].Changes = all[i].Changes[:min(len(all[i].Changes), mostChanges)]
	}
	return all
}

// otherOptions are changes to other environments of the kind that would for certain be cheaper:
// the prices of each block of the list say so.
func (l List) otherOptions(p Profile, e Environment) (changes []Change) {
	items, here := p.withUser(p.Items, l), l.sums(p, e.Name, byCPU)
	total := sum(items, l.estimates(e.Name, byCPU))
	for _, other := range l.Environments {
		if other.Kind != e.Kind || other.Options == e.Options || unpriced(items, l.estimates(other.Name, byCPU)) != unpriced(items, l.estimates(e.Name, byCPU)) {
			continue
		}
		there := l.sums(p, other.Name, byCPU)
		var saved []float64
		for block, v := range here {
			if w, both := there[block]; both {
				saved = append(saved, v-w)
			}
		}
		if a := amount(saved); a != nil && a.bounded() && *a.Low > 0 && a.Estimate > leastChange*total {
			changes = append(changes, Change{What: inPlace(other.Options, e.Options), Saves: a.Estimate, Environment: other.Name, options: other.Options})
		}
	}
	return changes
}

// OtherOptions are environments of the list that have other options than those of these names, as a
// command line writes them: docker+network=host. One that publishes ports would need those of the
// workload.
func (l List) OtherOptions(names []string) (others []string) {
	for _, name := range names {
		for _, e := range l.Environments {
			text := name + "+" + strings.Join(strings.Fields(e.Options), "+")
			if e.Kind == study.KindOf(name) && e.Options != "" && !strings.Contains(e.Options, "network=publish") && !slices.Contains(names, text) {
				others = append(others, text)
			}
		}
	}
	return others
}

// unpriced counts the items without a price.
func unpriced(items []Item, prices map[string]float64) (n int) {
	for _, item := range items {
		if math.IsNaN(worth(item, prices)) {
			n++
		}
	}
	return n
}

// inPlace says what is changed: network=host, without log=json-file.
func inPlace(then, now string) string {
	var words []string
	for _, word := range strings.Fields(then) {
		if !slices.Contains(strings.Fields(now), word) {
			words = append(words, word)
		}
	}
	set := func(word string) bool {
		key, _, _ := strings.Cut(word, "=")
		return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, key+"=") })
	}
	for _, word := range strings.Fields(now) {
		if !slices.Contains(strings.Fields(then), word) && !set(word) {
			words = append(words, "no "+word)
		}
	}
	return strings.Join(words, " and ")
}

func (l List) predict(p Profile, e Environment) Prediction {
	made := Prediction{Environment: e.Name, Kind: e.Kind, Options: e.Options, Label: e.Label}
	items := p.withUser(p.Items, l)
	cpu, time := l.estimates(e.Name, byCPU), l.estimates(e.Name, byTime)
	for _, item := range items {
		s := Share{Name: item.Name, CPU: worth(item, cpu), Time: worth(item, time)}
		if len(item.Kinds) == 0 || math.IsNaN(s.CPU) {
			made.Unpriced = append(made.Unpriced, item.Name)
			continue
		}
		if math.IsNaN(s.Time) {
			s.Time = 0
		}
		made.Items = append(made.Items, s)
	}
	slices.SortStableFunc(made.Items, func(a, b Share) int { return cmp.Compare(b.CPU, a.CPU) })
	if p.Operation != wholeRun { // which has no other operations to keep something for
		made.Changes = changes(items, made.Items, cpu)
	}
	made.MoreCPU = l.total(p, e.Name, byCPU)
	made.MoreTime = l.total(p, e.Name, byTime)
	made.Load = p.loadThere(made.MoreCPU, waited(made.Items))
	slower := func(more float64) float64 { return p.CPU.Estimate / max(p.CPU.Estimate+more, p.CPU.Estimate/100) }
	made.Rate = Amount{Estimate: slower(made.MoreCPU.Estimate)}
	if made.MoreCPU.bounded() {
		low, high := slower(*made.MoreCPU.High), slower(*made.MoreCPU.Low)
		made.Rate.Low, made.Rate.High = &low, &high
	}
	return made
}

// withUser adds the program's own work, in units of the kind that computes.
func (p Profile) withUser(items []Item, l List) []Item {
	compute := l.find(l.Baseline, "compute")
	if compute == nil || compute.CPU == nil || !(*compute.CPU > 0) || !(p.User.Estimate > 0) {
		return items
	}
	n := p.User.Estimate / *compute.CPU
	return append(slices.Clone(items), Item{Name: UserTime, Count: n, Kinds: map[string]float64{"compute": n}})
}

// worth of an item by the prices of kinds; NaN where one is missing.
func worth(item Item, prices map[string]float64) (sum float64) {
	for kind, n := range item.Kinds {
		price, there := prices[kind]
		if !there {
			return math.NaN()
		}
		sum += n * price
	}
	return sum
}

// sum of the items that have a price.
func sum(items []Item, prices map[string]float64) (total float64) {
	for _, item := range items {
		if v := worth(item, prices); !math.IsNaN(v) {
			total += v
		}
	}
	return total
}

// which of the two prices.
type which func(cpu *Amount, time *Amount, d *Difference) (v float64, known bool)

func byCPU(cpu, _ *Amount, d *Difference) (float64, bool) {
	switch {
	case d != nil && d.CPU != nil:
		return *d.CPU, true
	case d == nil && cpu != nil:
		return cpu.Estimate, true
	}
	return 0, false
}

func byTime(_, time *Amount, d *Difference) (float64, bool) {
	switch {
	case d != nil:
		return d.Time, true
	case time != nil:
		return time.Estimate, true
	}
	return 0, false
}

// estimates of the prices in an environment, by kind.
func (l List) estimates(environment string, of which) map[string]float64 {
	prices := map[string]float64{}
	for _, p := range l.Prices {
		if p.Environment != environment {
			continue
		}
		if v, known := of(p.MoreCPU, p.MoreTime, nil); known {
			prices[p.Kind] = v
		}
	}
	return prices
}

// total is what an operation costs more. Its interval carries both: what the same counts
// would cost by the prices of each block of the list, which moves all prices together, and
// what each block's counts would cost by the list's prices. The variances of the two add up
// (the delta method; Casella and Berger, Statistical Inference, 2002, section 5.5.4).
func (l List) total(p Profile, environment string, of which) Amount {
	items, prices := p.withUser(p.Items, l), l.estimates(environment, of)
	made := Amount{Estimate: sum(items, prices)}
	byPrices, byCounts := slices.Collect(maps.Values(l.sums(p, environment, of))), []float64(nil)
	for _, block := range p.blocks {
		byCounts = append(byCounts, sum(p.withUser(block, l), prices))
	}
	one, other := amount(byPrices), amount(byCounts)
	if one == nil || other == nil || !one.bounded() || !other.bounded() {
		return made
	}
	low := made.Estimate - math.Hypot(one.Estimate-*one.Low, other.Estimate-*other.Low)
	high := made.Estimate + math.Hypot(*one.High-one.Estimate, *other.High-other.Estimate)
	made.Low, made.High = &low, &high
	return made
}

// sums are what an operation costs more by the prices of each block of the list.
func (l List) sums(p Profile, environment string, of which) map[int]float64 {
	items, prices := p.withUser(p.Items, l), l.estimates(environment, of)
	blocks := map[int]map[string]float64{}
	for _, p := range l.Prices {
		if p.Environment != environment {
			continue
		}
		for _, d := range p.Each {
			v, known := of(nil, nil, &d)
			if !known {
				continue
			}
			if blocks[d.Block] == nil { // a price that this block lacks is the list's
				blocks[d.Block] = maps.Clone(prices)
			}
			blocks[d.Block][p.Kind] = v
		}
	}
	sums := map[int]float64{}
	for n, block := range blocks {
		sums[n] = sum(items, block)
	}
	return sums
}

// Change is one of a program or of an environment's options, and the CPU time of an operation that
// it would save, in nanoseconds, by prediction.
type Change struct {
	What  string  `json:"what"`
	Saves float64 `json:"saves_cpu_ns"`
	// Environment of the list that has these options; "" of a change of the program.
	Environment string `json:"environment,omitempty"`

	options string // of that
}

const (
	mostChanges  = 3
	leastChange  = .05      // of what the environment would add
	buffer       = 64 << 10 // of a change to larger reads and writes
	onceIn       = 10       // operations, for what an operation need not do each time
	bothEnds     = 2.       // calls of an operation: one of the program, one of who asks
	severalTimes = 3        // in an operation
)

// changes whose price is known: fewer and larger reads and writes, and what need not be done
// in each operation.
func changes(items []Item, shares []Share, prices map[string]float64) (all []Change) {
	var total float64
	for _, s := range shares {
		total += s.CPU
	}
	for _, item := range items {
		what, now, then := "", worth(item, prices), 0.
		switch {
		case item.Bytes != nil && item.Count >= severalTimes && *item.Bytes < buffer/2 && len(item.Kinds) > 1:
			what = item.Name + " merged into two of an operation"
			n := max(bothEnds, item.Count**item.Bytes/buffer)
			then = now * n / item.Count
		case item.Name == filesOpened && item.Count >= 1./onceIn:
			what, then = "files kept open for ten operations", now/onceIn
		case item.Name == connections && item.Count >= 1./onceIn:
			what, then = "connections kept for ten operations", now/onceIn
		case item.Name == programs && item.Count >= 1./onceIn:
			what, then = "a program started for ten operations", now/onceIn
		}
		if what != "" && now-then > leastChange*total {
			all = append(all, Change{What: what, Saves: now - then})
		}
	}
	return all
}
