package index

import (
	"context"
	"fmt"
	"net/url"

	"tare/internal/verdict"
)

// Series names a contrast over runs.
type Series struct {
	Study, Workload, Level, Metric, Environment, Baseline string
}

// SeriesOf is the series of a contrast of a study.
func SeriesOf(study string, c verdict.Contrast) Series {
	return Series{study, c.Workload, c.Level, c.Metric, c.Environment, c.Baseline}
}

// Query is the series as the query of an address.
func (s Series) Query() string {
	q := url.Values{}
	for name, value := range map[string]string{"study": s.Study, "workload": s.Workload, "level": s.Level, "metric": s.Metric, "environment": s.Environment, "baseline": s.Baseline} {
		if value != "" {
			q.Set(name, value)
		}
	}
	return q.Encode()
}

// SeriesIn is the series that the query of an address names.
func SeriesIn(q url.Values) Series {
	return Series{q.Get("study"), q.Get("workload"), q.Get("level"), q.Get("metric"), q.Get("environment"), q.Get("baseline")}
}

func (s Series) String() string {
	place := s.Workload
	if s.Level != "" {
		place += ", " + s.Level
	}
	return fmt.Sprintf("%s of %s: %s against %s", s.Metric, place, s.Environment, s.Baseline)
}

// Counted is a series with the number of its runs.
type Counted struct {
	Series
	Runs int
}

// Series returns the primary contrasts that at least two runs have.
func (x *Index) Series(ctx context.Context, limit int) (list []Counted, err error) {
	where, values := x.inRoots()
	rows, err := x.db.QueryContext(ctx, `select c.study, workload, level, metric, environment, baseline, count(*) as runs
		from contrasts c join runs r on r.id = c.run where `+where+` and main
		group by 1, 2, 3, 4, 5, 6 having runs > 1 order by 1, 2, 3, 4, 5, 6 limit ?`, append(values, limit)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var c Counted
		if err := rows.Scan(&c.Study, &c.Workload, &c.Level, &c.Metric, &c.Environment, &c.Baseline, &c.Runs); err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, rows.Err()
}

// Counts returns how many runs have each contrast of a study.
func (x *Index) Counts(ctx context.Context, study string) (map[Series]int, error) {
	where, values := x.inRoots()
	rows, err := x.db.QueryContext(ctx, `select c.study, workload, level, metric, environment, baseline, count(*)
		from contrasts c join runs r on r.id = c.run where `+where+` and c.study = ? group by 1, 2, 3, 4, 5, 6`, append(values, study)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	counts := map[Series]int{}
	for rows.Next() {
		var s Series
		var n int
		if err := rows.Scan(&s.Study, &s.Workload, &s.Level, &s.Metric, &s.Environment, &s.Baseline, &n); err != nil {
			return nil, err
		}
		counts[s] = n
	}
	return counts, rows.Err()
}

// Point is a contrast in one run.
type Point struct {
	Run
	Unit, Better string
	N            int
	Estimate     float64 // log ratio
	Low, High    *float64
	Verdict      verdict.Verdict
}

// History returns the last points of a series, oldest first.
func (x *Index) History(ctx context.Context, s Series, limit int) (list []Point, err error) {
	where, values := x.inRoots()
	rows, err := x.db.QueryContext(ctx, `select id, directory, name, created, machine, tare, unit, better, n, estimate, low, high, verdict from (
		select r.id, directory, name, created, machine, tare, unit, better, n, estimate, low, high, verdict
		from contrasts c join runs r on r.id = c.run where `+where+` and c.study = ? and workload = ? and level = ? and metric = ? and environment = ? and baseline = ?
		order by created desc, name desc limit ?) order by created, name`,
		append(values, s.Study, s.Workload, s.Level, s.Metric, s.Environment, s.Baseline, limit)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var p Point
		var created int64
		if err := rows.Scan(&p.ID, &p.Directory, &p.Name, &created, &p.Machine, &p.Tare, &p.Unit, &p.Better, &p.N, &p.Estimate, &p.Low, &p.High, &p.Verdict); err != nil {
			return nil, err
		}
		p.Created = timeOf(created)
		list = append(list, p)
	}
	return list, rows.Err()
}
