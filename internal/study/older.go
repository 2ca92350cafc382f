package study

import (
	"encoding/json"
	"slices"

	"tare/internal/image"
	"tare/internal/usage/cost"
	"tare/internal/workload"
)

// UnmarshalJSON reads a plan, and brings one of an older version up to date: where
// it has only the processor time of an operation, it gets all costs, which follow
// from what its trials recorded, and where its levels have no shapes, it gets
// them. The image of roles on the host was the only one besides that of all.
func (p *Plan) UnmarshalJSON(data []byte) error {
	type plain Plan // without this method
	if err := json.Unmarshal(data, (*plain)(p)); err != nil {
		return err
	}
	var read struct {
		HostImage *image.Source `json:"host_image"`
	}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	if read.HostImage != nil {
		p.Images = map[string]image.Source{workload.OwnImage: *read.HostImage}
		for _, w := range p.Workloads {
			for i := range w.Levels {
				w.Levels[i].Shape.Copies = 0 // their roles named no images
			}
		}
	}
	for i := range p.Workloads {
		pack := &p.Workloads[i].Pack
		at := slices.IndexFunc(pack.Metrics, func(m workload.Metric) bool { return cost.Earlier(m.Name) })
		if at >= 0 {
			pack.Metrics = slices.Replace(pack.Metrics, at, at+1, costMetrics(p.costs())...)
		}
	}
	p.addShapes()
	return nil
}

// addShapes computes the shapes that a plan lacks because an older version wrote
// it. Where one cannot be computed it stays empty: the run can still be read.
func (p *Plan) addShapes() {
	for _, w := range p.Workloads {
		for i, l := range w.Levels {
			if s, err := w.shape(l); l.Shape.Copies == 0 && err == nil {
				w.Levels[i].Shape = s
			}
		}
	}
}
