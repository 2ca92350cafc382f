package study

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/base/lists"
	"tare/internal/base/strictyaml"
	"tare/internal/workload"
)

// mostLevels is the largest number of levels: a range with more was mistyped.
const mostLevels = 1000

// densityKeys are the keys of how many instances take part and how they start.
// They are swept like parameters, in every pack.
var densityKeys = map[string]struct {
	workload.Parameter
	set func(*Level, int)
}{
	"instances":  {workload.Parameter{Default: "1", Min: new(1.0), Max: new(1000.0)}, func(l *Level, n int) { l.Instances = n }},
	"starting":   {workload.Parameter{Default: "0", Min: new(0.0), Max: new(1000.0)}, func(l *Level, n int) { l.Starting = n }},
	"neighbours": {workload.Parameter{Default: "0", Min: new(0.0), Max: new(1000.0)}, func(l *Level, n int) { l.Neighbours = n }},
}

// sweep is a range of a parameter: from, then by step or by factor, up to to.
type sweep struct {
	From   *string  `yaml:"from"`
	To     *string  `yaml:"to"`
	Step   *string  `yaml:"step"`
	Factor *float64 `yaml:"factor"`
}

// resolveLevels reads the parameters of an entry. Each swept one multiplies the
// levels; the last in the file changes fastest.
func resolveLevels(pairs settings, pack *workload.Pack) []Level {
	known := slices.Sorted(maps.Keys(pack.Parameters))
	levels := []Level{{Parameters: pack.Defaults()}}
	for _, p := range pairs {
		parameter, ok := pack.Parameters[p.Key]
		of, many := densityKeys[p.Key]
		if many {
			parameter, ok = of.Parameter, true
		} else if p.Key == sampleKey {
			parameter, ok = workload.Parameter{Default: "100ms"}, true
		} else if slices.Contains(workload.Reserved, p.Key) || !ok && slices.Contains(workload.SoftReserved, p.Key) {
			continue
		}
		if !ok {
			p.Value.ProblemAtKey("workload %s: %s", pack.Name, strictyaml.Unknown("parameter", p.Key, slices.Concat(workload.Reserved, workload.SoftReserved, known)))
			continue
		}
		values, swept := valuesOf(p, parameter)
		if len(values)*len(levels) > mostLevels {
			p.Value.Problemf("%s: more than %d levels", p.Key, mostLevels)
			continue
		}
		var next []Level
		for _, l := range levels {
			for _, v := range values {
				n := l
				n.Parameters = maps.Clone(l.Parameters)
				if p.Key == sampleKey {
					n.Sample, _ = time.ParseDuration(v) // see resolveSamples
				} else if many {
					count, _ := strconv.Atoi(v) // the parameter is a whole number
					of.set(&n, count)
				} else {
					n.Parameters[p.Key] = v
				}
				if swept {
					n.Name = strings.TrimPrefix(n.Name+","+p.Key+"="+v, ",")
				}
				next = append(next, n)
			}
		}
		if len(next) > 0 {
			levels = next
		}
	}
	return levels
}

// valuesOf reads one value, a list of values or a range. Values that the parameter
// does not allow are problems.
func valuesOf(p strictyaml.Pair, parameter workload.Parameter) (values []string, swept bool) {
	take := func(at strictyaml.Node, value string) {
		value, err := parameter.Normalize(value)
		if err != nil {
			at.Problemf("%s: %s", p.Key, err)
		} else if slices.ContainsFunc(values, func(v string) bool { return parameter.Format(v) == parameter.Format(value) }) {
			at.Problemf("%s: %s is listed twice", p.Key, value)
		} else {
			values = append(values, value)
		}
	}
	switch {
	case p.Value.IsSequence():
		items := p.Value.Items()
		if len(items) == 0 {
			p.Value.Problemf("%s: the list is empty", p.Key)
		}
		for _, item := range items {
			var value string
			item.Decode(&value)
			take(item, value)
		}
		return values, true
	case p.Value.IsMapping():
		for _, value := range steps(p, parameter) {
			take(p.Value, value)
		}
		return values, true
	case p.Value.IsNull():
		p.Value.Problemf("%s: has no value", p.Key)
	default:
		var value string
		p.Value.Decode(&value)
		take(p.Value, value)
	}
	return values, false
}

func steps(p strictyaml.Pair, parameter workload.Parameter) []string {
	if !parameter.Numeric() {
		p.Value.Problemf("%s: only a number has a range; write a list", p.Key)
		return nil
	}
	var s sweep
	p.Value.Decode(&s)
	if s.From == nil || s.To == nil || (s.Step == nil) == (s.Factor == nil) {
		p.Value.Problemf("%s: a range is {from: 1, to: 10, step: 3} or {from: 1, to: 100, factor: 10}", p.Key)
		return nil
	}
	var from, to, step float64
	for _, one := range []struct {
		key  string
		text *string
		into *float64
	}{{"from", s.From, &from}, {"to", s.To, &to}, {"step", s.Step, &step}} {
		if one.text == nil {
			continue
		}
		var err error
		if *one.into, err = parameter.Number(*one.text); err != nil {
			p.Value.At(one.key).Problemf("%s: %s: %s", p.Key, one.key, err)
			return nil
		}
	}
	switch {
	case from > to:
		p.Value.Problemf("%s: from is greater than to", p.Key)
		return nil
	case s.Step != nil && step <= 0:
		p.Value.At("step").Problemf("%s: step must be above 0", p.Key)
		return nil
	case s.Factor != nil && (*s.Factor <= 1 || from <= 0):
		p.Value.Problemf("%s: factor must be above 1, and from above 0", p.Key)
		return nil
	}
	var values []string
	for i := 0; i <= mostLevels; i++ {
		v := from
		if s.Step != nil {
			v += float64(i) * step
		} else {
			v *= math.Pow(*s.Factor, float64(i))
		}
		if v > to*(1+1e-12)+1e-12 {
			return values
		}
		// Nine digits after the point hide the error of binary fractions.
		values = append(values, strconv.FormatFloat(math.Round(v*1e9)/1e9, 'f', -1, 64))
	}
	p.Value.Problemf("%s: more than %d levels", p.Key, mostLevels)
	return nil
}

// sampleKey is the key of a workload with the length of a sample.
const sampleKey = "sample"

// The lengths that a study may ask for.
const (
	shortestSample = time.Millisecond
	longestSample  = 24 * time.Hour
)

// resolveSamples completes the lengths of samples: an entry sets them with sample:
// or with the pack's own parameter.
func resolveSamples(pairs settings, pack *workload.Pack, levels []Level) {
	sample := pairs.at(sampleKey)
	given := sample.Exists()
	if pack.Length == nil {
		if given {
			sample.Problemf("sample: workload %s does a fixed amount of work: its samples have no chosen length", pack.Name)
		}
		return
	}
	timed := pairs.at(pack.Length.Time).Exists()
	switch {
	case given && timed:
		sample.Problemf("sample: %s sets the length too; write one of them", pack.Length.Time)
		return
	case timed:
		for i := range levels {
			levels[i].Sample = pack.SampleLength(levels[i].Parameters)
		}
		return
	case !given:
		return
	}
	for _, l := range levels {
		_, _, err := pack.WithSample(l.Parameters, l.Sample)
		switch {
		case l.Sample < shortestSample || l.Sample > longestSample:
			sample.Problemf("sample: needs a length from %v to %v, such as 100ms", shortestSample, longestSample)
		case pack.Amount(l.Parameters) > 0:
			sample.Problemf("sample: %s sets the work of a sample; write one of them", pack.Length.Amount)
		case err != nil:
			sample.Problemf("sample: %s", err)
		default:
			continue
		}
		return
	}
}

// withLength leaves out the length of samples that a study has, where its scale sets
// another in the other way: with sample:, or with the pack's own parameter.
func withLength(own settings, scaled strictyaml.Node, pack *workload.Pack) settings {
	if pack.Length == nil {
		return own
	}
	ways := []string{sampleKey, pack.Length.Time}
	for i, way := range ways {
		if scaled.At(way).Exists() {
			own = slices.DeleteFunc(own, func(p strictyaml.Pair) bool { return p.Key == ways[1-i] })
		}
	}
	return own
}

// SampleLength returns how long a sample of the workload shall be; 0 is what its
// parameters say. rounds is for trials of several samples. Those next to neighbours are
// as long as single ones: with more threads than cores, a short one is fast or slow by
// where the scheduler has put the threads, which it changes now and then.
func (w Workload) SampleLength(l Level, e *Environment, rounds bool) time.Duration {
	length := w.Pack.Length
	if length == nil {
		return 0
	}
	if _, set := e.With[w.Name][length.Time]; set {
		return 0
	}
	if l.Sample == 0 && rounds && !w.HasNeighbours() {
		return length.Sample
	}
	return l.Sample
}

// LoadTime is how long the load of a sample is set to last; 0 where its parameters name an
// amount of work. rounds is for trials of several samples.
func (w Workload) LoadTime(l Level, e *Environment, rounds bool) (took time.Duration) {
	if length := w.SampleLength(l, e, rounds); length > 0 {
		return length
	}
	for name, value := range e.Parameters(w.Name, l) {
		if seconds, err := strconv.ParseFloat(value, 64); err == nil && strings.HasSuffix(name, "seconds") && w.Pack.Parameters[name].Unit == "s" {
			took += time.Duration(seconds * float64(time.Second))
		}
	}
	return took
}

// CountSeries is a series of levels of a workload that differ in one count alone: the
// number of copies that run at once, or of neighbours.
type CountSeries struct {
	By     string  // instances or neighbours
	Levels []Level // at least two, by rising count
}

// The counts that the levels of a series differ in.
const (
	ByInstances  = "instances"
	ByNeighbours = "neighbours"
)

// Count of a level in the series.
func (c CountSeries) Count(l Level) int {
	if c.By == ByNeighbours {
		return l.Neighbours
	}
	return max(l.Instances, 1)
}

// Rest is the part of the name that its levels have in common: "" where nothing
// else is swept.
func (c CountSeries) Rest() string {
	kept := lists.Filter(strings.Split(c.Levels[0].Name, ","), func(part string) bool { return !strings.HasPrefix(part, c.By+"=") })
	return strings.Join(kept, ",")
}

// CountSeries of a workload; those by neighbours are first.
func (w Workload) CountSeries() (series []CountSeries) {
	for _, by := range []string{ByNeighbours, ByInstances} {
		var taken []CountSeries
		for _, l := range w.Levels {
			i := slices.IndexFunc(taken, func(c CountSeries) bool { return c.takes(l) })
			if i < 0 {
				i, taken = len(taken), append(taken, CountSeries{By: by})
			}
			taken[i].Levels = append(taken[i].Levels, l)
		}
		for _, c := range taken {
			if len(c.Levels) > 1 {
				slices.SortStableFunc(c.Levels, func(a, b Level) int { return cmp.Compare(c.Count(a), c.Count(b)) })
				series = append(series, c)
			}
		}
	}
	return series
}

// takes says whether a level differs from the first one in its count alone.
func (c CountSeries) takes(l Level) bool {
	first := c.Levels[0]
	if c.Count(first) == c.Count(l) || first.Starting != l.Starting || !maps.Equal(first.Parameters, l.Parameters) {
		return false
	}
	if c.By == ByNeighbours {
		return first.Instances == l.Instances
	}
	return first.Neighbours == l.Neighbours
}
