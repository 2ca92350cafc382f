package usage

import (
	"cmp"
	"encoding/json"
	"math"
	"time"
)

// Series holds the readings of one instance, at eight bytes per value.
type Series struct {
	Began   time.Time
	seconds []float64
	// columns are in the order of Quantities; a missing value is NaN.
	columns [][]float64
	missing map[int]string // the latest reason, by quantity
}

// Add appends a reading.
func (s *Series) Add(r *Reading) {
	if s.columns == nil {
		s.columns, s.missing = make([][]float64, len(Quantities)), map[int]string{}
	}
	s.seconds = append(s.seconds, r.Seconds)
	for i := range Quantities {
		f, v := Quantities[i].of(r), math.NaN()
		if f.Missing == "" {
			v = f.Value
		} else if s.missing[i] != f.Missing {
			s.missing[i] = f.Missing
		}
		s.columns[i] = append(s.columns[i], v)
	}
}

// Len returns the number of readings.
func (s *Series) Len() int { return len(s.seconds) }

// At returns a reading.
func (s *Series) At(n int) Reading {
	r := Reading{Seconds: s.seconds[n]}
	for i := range Quantities {
		if v := s.columns[i][n]; math.IsNaN(v) {
			*Quantities[i].of(&r) = Figure{Missing: s.missing[i]}
		} else {
			*Quantities[i].of(&r) = Known(v)
		}
	}
	return r
}

// Missing returns why a quantity lacks values; "" if it has them.
func (s *Series) Missing(quantity string) string {
	for i := range Quantities {
		if Quantities[i].Name == quantity {
			return s.missing[i]
		}
	}
	return ""
}

// seriesJSON is a series in JSON: by quantity, with null for missing values.
type seriesJSON struct {
	Began   time.Time             `json:"began"`
	Seconds []float64             `json:"seconds"`
	Columns map[string][]*float64 `json:"columns"`
	Missing map[string]string     `json:"missing,omitempty"`
}

// MarshalJSON encodes the series for the transfer between machines.
func (s *Series) MarshalJSON() ([]byte, error) {
	w := seriesJSON{Began: s.Began, Seconds: s.seconds, Columns: map[string][]*float64{}, Missing: map[string]string{}}
	for i, column := range s.columns {
		name, values := Quantities[i].Name, make([]*float64, len(column))
		for n := range column {
			if !math.IsNaN(column[n]) {
				values[n] = &column[n]
			}
		}
		if w.Columns[name] = values; s.missing[i] != "" {
			w.Missing[name] = s.missing[i]
		}
	}
	return json.Marshal(w)
}

// UnmarshalJSON decodes what MarshalJSON encodes.
func (s *Series) UnmarshalJSON(data []byte) error {
	var w seriesJSON
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*s = Series{Began: w.Began}
	for n, second := range w.Seconds {
		r := Reading{Seconds: second}
		for i := range Quantities {
			f, column := Quantities[i].of(&r), w.Columns[Quantities[i].Name]
			if n < len(column) && column[n] != nil {
				*f = Known(*column[n])
			} else {
				*f = Absent("%s", cmp.Or(w.Missing[Quantities[i].Name], "tare on the other machine does not measure it"))
			}
		}
		s.Add(&r)
	}
	return nil
}
