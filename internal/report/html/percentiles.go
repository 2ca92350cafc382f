package html

import (
	"fmt"

	"tare/internal/report/model"
)

// percentilesIn are the distributions of a workload, with what their chart can show.
type percentilesIn struct {
	Baseline      string
	Workload      model.Workload
	Distributions []model.Distribution
	Choices       []choice
}

// PercentilesOf a workload; nil without distributions.
func (p *page) PercentilesOf(w model.Workload) *percentilesIn {
	in := percentilesIn{p.Plan.Baseline, w, p.Distributions(w), nil}
	for i, d := range in.Distributions {
		in.Choices = append(in.Choices, levelsOf(fmt.Sprint(i), d.Name, w.Levels)...)
	}
	selected(in.Choices)
	if len(in.Distributions) == 0 {
		return nil
	}
	return &in
}

// chartDistribution is a distribution of a workload: the metrics that are its
// percentiles.
type chartDistribution struct {
	Name        string    `json:"name"`
	Percentiles []float64 `json:"percentiles"`
	Metrics     []int     `json:"metrics"`
}

func distributionsOf(v *model.Report, w model.Workload) (all []chartDistribution) {
	for _, d := range v.Distributions(w) {
		all = append(all, chartDistribution{d.Name, d.Percentiles, d.Numbers})
	}
	return all
}
