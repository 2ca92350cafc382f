package metrics

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"

	dto "github.com/prometheus/client_model/go"

	"tare/internal/environment"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/usage"
	"tare/internal/verdict"
)

// Past is a finished or interrupted run.
type Past struct {
	Manifest  rundir.Manifest
	Plan      *study.Plan
	Trials    []rundir.Trial
	Contrasts []verdict.Contrast // at the end
	// Mark adds the marks of confounds to contrasts before; nil adds none.
	Mark func([]verdict.Contrast) []verdict.Contrast
	// Readings returns the samplers' readings in a trial, one Watching for each
	// instance; none if the run directory has no readings of the trial. It may be
	// nil.
	Readings func(rundir.Trial) ([]Watching, error)
}

// Watching is the readings of one instance in a trial.
type Watching struct {
	Began    time.Time
	Readings []usage.Reading
}

// Text writes all values of a run's metrics over time as OpenMetrics, with
// timestamps. It replays the trials through the live metrics.
func Text(out io.Writer, p Past) error {
	h := &history{lines: map[*Family]map[string]*line{}}
	r := opened(p.Manifest, p.Plan, func() time.Time { return h.at })
	r.values.changed = h.note
	var book *verdict.Book
	if p.Manifest.Import == nil {
		book = verdict.NewBook(p.Plan, usable(p.Manifest))
	}
	trials := slices.DeleteFunc(slices.Clone(p.Trials), func(t rundir.Trial) bool { return t.Ended.IsZero() })
	if len(trials) == 0 {
		return fmt.Errorf("no trial of the run has a timestamp, and OpenMetrics needs one for each value")
	}
	for i, t := range trials {
		if err := h.play(r, p, t); err != nil {
			return err
		}
		var contrasts []verdict.Contrast
		if book != nil {
			book.Add(t)
			if i+1 == len(trials) || trials[i+1].Block != t.Block {
				if contrasts = book.Verdicts(); p.Mark != nil {
					contrasts = p.Mark(contrasts)
				}
			}
		}
		if i+1 == len(trials) {
			contrasts = p.Contrasts
		}
		h.at = t.Ended
		r.Tried(t, contrasts)
		r.again(RunInfo, Began)
	}
	return h.write(out, p.Manifest.Run)
}

func usable(m rundir.Manifest) (names []string) {
	for name, facts := range m.Environments {
		if facts.State != environment.Missing {
			names = append(names, name)
		}
	}
	return names
}

// again records the current values of families that change rarely, so that they
// have a point after each trial.
func (r *Run) again(families ...*Family) {
	for _, f := range families {
		for _, s := range r.values.of[f] {
			r.values.changed(f, s.labels, s.value)
		}
	}
}

// play feeds the readings of a trial to the run in the order of their times.
func (h *history) play(r *Run, p Past, t rundir.Trial) error {
	var watched []Watching
	if p.Readings != nil {
		var err error
		if watched, err = p.Readings(t); err != nil {
			return err
		}
	}
	if len(watched) == 0 && t.Usage != nil {
		watched = []Watching{ends(t)}
	}
	type timed struct {
		at      time.Time
		reading usage.Reading
		update  func(usage.Reading)
	}
	var readings []timed
	for _, w := range watched {
		update := r.Watch(t.Node, t.Cell())
		for _, reading := range w.Readings {
			readings = append(readings, timed{w.Began.Add(time.Duration(reading.Seconds * float64(time.Second))), reading, update})
		}
	}
	slices.SortStableFunc(readings, func(a, b timed) int { return a.at.Compare(b.at) })
	c := cellOn(t.Node, t.Cell())
	for _, next := range readings {
		h.at = next.at
		next.update(next.reading)
		r.show(c, r.use(c))
	}
	return nil
}

// ends derives two readings from a trial's usage: at the start and at the end of
// the driver, with the mean of each gauge in both.
func ends(t rundir.Trial) Watching {
	first, last := usage.Reading{}, usage.Reading{Seconds: t.HostSeconds}
	for _, q := range usage.Quantities {
		figure := q.Total(t.Usage)
		*q.Of(&last), *q.Of(&first) = figure, figure
		if q.Kind == usage.Counter && figure.Missing == "" {
			*q.Of(&first) = usage.Known(0)
		}
	}
	return Watching{t.Ended.Add(-time.Duration(t.HostSeconds * float64(time.Second))), []usage.Reading{first, last}}
}

// history is every value that was set, with its time.
type history struct {
	at    time.Time
	lines map[*Family]map[string]*line
}

type line struct {
	labels []string
	points []point
}

type point struct {
	at    int64 // ms
	value float64
}

func (h *history) note(f *Family, labels []string, value float64) {
	if f.Shown == Live {
		return
	}
	if h.lines[f] == nil {
		h.lines[f] = map[string]*line{}
	}
	key := strings.Join(labels, "\xff")
	l := h.lines[f][key]
	if l == nil {
		l = &line{labels: labels}
		h.lines[f][key] = l
	}
	l.points = append(l.points, point{h.at.UnixMilli(), value})
}

// inOrder returns the points by time; of several at the same time, the last one
// that was set.
func (l *line) inOrder() []point {
	points := slices.Clone(l.points)
	slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.at, b.at) })
	kept := points[:0]
	for i, p := range points {
		if i+1 == len(points) || points[i+1].at != p.at {
			kept = append(kept, p)
		}
	}
	return kept
}

// write writes the text in the order of the list of families.
func (h *history) write(out io.Writer, run string) error {
	buffered := bufio.NewWriter(out)
	for _, f := range families {
		lines := h.lines[f]
		if len(lines) == 0 {
			continue
		}
		kind := dto.MetricType_GAUGE
		if f.Type == Counter {
			kind = dto.MetricType_COUNTER
		}
		family := &dto.MetricFamily{Name: &f.Name, Help: &f.Help, Type: &kind}
		for _, key := range slices.Sorted(maps.Keys(lines)) {
			labels := pairs(f.Labels, lines[key].labels, run)
			for _, p := range lines[key].inOrder() {
				m := &dto.Metric{Label: labels, TimestampMs: &p.at}
				if f.Type == Counter {
					m.Counter = &dto.Counter{Value: &p.value}
				} else {
					m.Gauge = &dto.Gauge{Value: &p.value}
				}
				family.Metric = append(family.Metric, m)
			}
		}
		if _, err := expfmt.MetricFamilyToOpenMetrics(buffered, family); err != nil {
			return fmt.Errorf("write the metrics %s: %w", f.Name, err)
		}
	}
	if _, err := expfmt.FinalizeOpenMetrics(buffered); err != nil {
		return err
	}
	return buffered.Flush()
}

func pairs(names, values []string, run string) (list []*dto.LabelPair) {
	name, value := RunLabel, run
	list = append(list, &dto.LabelPair{Name: &name, Value: &value})
	for i := range names {
		if values[i] != "" { // an empty label is the same as an absent one
			list = append(list, &dto.LabelPair{Name: &names[i], Value: &values[i]})
		}
	}
	slices.SortFunc(list, func(a, b *dto.LabelPair) int { return cmp.Compare(*a.Name, *b.Name) })
	return list
}
