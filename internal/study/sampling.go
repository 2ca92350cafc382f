package study

import (
	"fmt"
	"strings"
	"time"

	"tare/internal/base/strictyaml"
	"tare/internal/usage"
	"tare/internal/usage/cost"
	"tare/internal/workload"
)

// The readings per second that sampling may take.
const (
	slowestRate = 1
	fastestRate = 100
	usualRate   = 10
)

// mostTraced is the largest number of traced trials of a study.
const mostTraced = 100

type samplingSection struct {
	Rate     *numberOr[float64, off] `yaml:"rate"`
	Usage    bool                    `yaml:"usage"`
	Syscalls bool                    `yaml:"syscalls"`
	Traced   int                     `yaml:"traced"`
}

func (s samplingSection) resolve(at strictyaml.Node) Sampling {
	sampling := Sampling{Usage: s.Usage, Syscalls: s.Syscalls, Traced: s.Traced, Off: s.Rate != nil && s.Rate.word}
	if s.Traced < 0 || s.Traced > mostTraced {
		at.At("traced").Problemf("traced: must be 0 to %d trials per workload and environment", mostTraced)
	}
	if s.Rate != nil && !s.Rate.word {
		if sampling.Rate = s.Rate.number; sampling.Rate < slowestRate || sampling.Rate > fastestRate {
			at.At("rate").Problemf("rate: must be %d to %d readings per second, or off (one reading at the start and one at the end)", slowestRate, fastestRate)
		}
	}
	return sampling
}

// Every is the time between two readings.
func (s Sampling) Every() time.Duration {
	switch {
	case s.Off:
		return usage.Never
	case s.Rate == 0:
		return time.Second / usualRate
	}
	return time.Duration(float64(time.Second) / s.Rate)
}

// Words describe what differs from the defaults; "" where nothing does.
func (s Sampling) Words() string {
	var words []string
	switch {
	case s.Off:
		words = append(words, "rate off: one reading at the start and one at the end")
	case s.Rate != 0 && s.Rate != usualRate:
		words = append(words, "readings "+s.String())
	}
	if s.Usage {
		words = append(words, "CPU utilization, peak memory and bytes read as metrics")
	}
	if s.Syscalls {
		words = append(words, "system calls counted in every trial")
	}
	switch {
	case s.Traced == 1:
		words = append(words, "1 traced trial after the blocks")
	case s.Traced > 1:
		words = append(words, fmt.Sprintf("%d traced trials after the blocks", s.Traced))
	}
	return strings.Join(words, "; ")
}

// String says how often readings are taken.
func (s Sampling) String() string {
	if s.Off {
		return "at the beginning and at the end"
	}
	return fmt.Sprintf("%g times per second", float64(time.Second)/float64(s.Every()))
}

// costs are the costs of operations that the study asks for.
func (p *Plan) costs() []cost.Cost { return cost.Asked(p.Sampling.Syscalls, p.Sampling.Usage, p.Price) }

func costMetrics(costs []cost.Cost) (metrics []workload.Metric) {
	for _, c := range costs {
		metrics = append(metrics, workload.Metric{Name: c.Name, Unit: c.Unit, Better: "lower", About: c.About})
	}
	return metrics
}
