package metrics

import (
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"tare/internal/base/lists"
	"tare/internal/base/visible"
)

// values are the current series of all families.
type values struct {
	of map[*Family]map[string]*series
	// changed, if not nil, is called for every value that is set, also if it is
	// the same as before.
	changed func(f *Family, labels []string, value float64)
}

type series struct {
	labels []string
	value  float64
}

func (v *values) at(f *Family, labels []string) *series {
	if len(labels) != len(f.Labels) {
		panic(f.Name + ": labels " + strings.Join(labels, ", ") + " for " + strings.Join(f.Labels, ", "))
	}
	if v.of == nil {
		v.of = map[*Family]map[string]*series{}
	}
	if v.of[f] == nil {
		v.of[f] = map[string]*series{}
	}
	labels = lists.Map(labels, visible.Text)
	key := strings.Join(labels, "\xff")
	s := v.of[f][key]
	if s == nil {
		s = &series{labels: labels}
		v.of[f][key] = s
	}
	return s
}

func (v *values) set(f *Family, value float64, labels ...string) {
	s := v.at(f, labels)
	s.value = value
	if v.changed != nil {
		v.changed(f, s.labels, value)
	}
}

func (v *values) add(f *Family, value float64, labels ...string) {
	v.set(f, v.at(f, labels).value+value, labels...)
}

// drop removes the series of a family whose first labels are these: a value that
// no longer exists is absent, not 0.
func (v *values) drop(f *Family, first ...string) {
	for key, s := range v.of[f] {
		if slices.Equal(s.labels[:len(first)], first) {
			delete(v.of[f], key)
		}
	}
}

// known sets a value, or removes it if it is not known.
func (v *values) known(f *Family, value float64, known bool, labels ...string) {
	if known {
		v.set(f, value, labels...)
	} else {
		v.drop(f, labels...)
	}
}

// optional sets a value, or removes it if it is nil.
func (v *values) optional(f *Family, value *float64, labels ...string) {
	if value == nil {
		v.drop(f, labels...)
	} else {
		v.set(f, *value, labels...)
	}
}

// one sets the series with the label value `is` to 1, and those with the other
// values of all to 0.
func (v *values) one(f *Family, all []string, is string, labels ...string) {
	for _, name := range all {
		value := 0.0
		if name == is {
			value = 1
		}
		v.set(f, value, append(slices.Clone(labels), name)...)
	}
}

// collect sends all series.
func (v *values) collect(described map[*Family]*prometheus.Desc, out chan<- prometheus.Metric) {
	for f, all := range v.of {
		kind := prometheus.GaugeValue
		if f.Type == Counter {
			kind = prometheus.CounterValue
		}
		for _, s := range all {
			out <- prometheus.MustNewConstMetric(described[f], kind, s.value, s.labels...)
		}
	}
}
