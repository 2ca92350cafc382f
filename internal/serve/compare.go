package serve

import (
	"net/http"
	"slices"

	"tare/internal/base/lists"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/serve/index"
	"tare/internal/verdict"
)

// sides are two runs side by side.
type sides struct {
	Runs        []index.Run
	Changes     []verdict.Moved // of primary metrics
	Others      []verdict.Moved
	Differences []string
}

// compare shows two runs side by side, as tare compare does: the older one first.
func (s *Server) compare(r *http.Request) (view, error) {
	ids := r.URL.Query()["run"]
	if len(ids) != 2 || ids[0] == ids[1] {
		return view{}, &problem{http.StatusBadRequest, "Choose two runs in the list, and no more: two are compared."}
	}
	var v sides
	var read []*rundir.Run
	for _, id := range ids {
		run, err := s.found(id)
		if err != nil {
			return view{}, err
		}
		v.Runs = append(v.Runs, run)
	}
	slices.SortStableFunc(v.Runs, func(a, b index.Run) int { return a.Created.Compare(b.Created) })
	for i, of := range v.Runs {
		v.Runs[i].State = state(of)
		run, err := s.read(r.Context(), of)
		if err != nil {
			return view{}, err
		}
		read = append(read, run)
	}
	if err := rundir.SameStudy(read[0], read[1]); err != nil {
		return view{}, &problem{http.StatusUnprocessableEntity, err.Error()}
	}
	changes := verdict.Compare(read[0].Plan, read[0].Trials, read[1].Trials)
	verdict.AsReported(changes, read[0].Plan.Baseline, model.Contrasts(read[0]), model.Contrasts(read[1]))
	v.Changes = lists.Filter(changes, func(c verdict.Moved) bool { return c.Primary })
	v.Others = lists.Filter(changes, func(c verdict.Moved) bool { return !c.Primary })
	v.Differences = rundir.Differences(read[0], read[1])
	return view{Title: "Two runs side by side", Name: "compare", Data: v}, nil
}
