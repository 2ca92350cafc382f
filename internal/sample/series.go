package sample

import (
	"cmp"
	"encoding/json"
	"math"
	"time"
)

// Series are the readings of one instance, put close together: a look takes
// eight bytes a quantity.
type Series struct {
	Began   time.Time
	seconds []float64
	// columns stand in the order of Quantities; what is missing is no number.
	columns [][]float64
	missing map[int]string // why, by quantity: the latest reason
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

// Len is how many readings there are.
func (s *Series) Len() int { return len(s.seconds) }

// At is one of them.
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

// Missing says why a quantity lacks values; "" where it does not say so.
func (s *Series) Missing(quantity string) string {
	for i := range Quantities {
		if Quantities[i].Name == quantity {
			return s.missing[i]
		}
	}
	return ""
}

// written is a series as text: by quantity, with null for what is missing.
type written struct {
	Began   time.Time             `json:"began"`
	Seconds []float64             `json:"seconds"`
	Columns map[string][]*float64 `json:"columns"`
	Missing map[string]string     `json:"missing,omitempty"`
}

// MarshalJSON writes the series for the way between two machines.
func (s *Series) MarshalJSON() ([]byte, error) {
	w := written{Began: s.Began, Seconds: s.seconds, Columns: map[string][]*float64{}, Missing: map[string]string{}}
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

// UnmarshalJSON reads what MarshalJSON writes.
func (s *Series) UnmarshalJSON(data []byte) error {
	var w written
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
				*f = Absent("%s", cmp.Or(w.Missing[Quantities[i].Name], "the other machine's tare does not know it"))
			}
		}
		s.Add(&r)
	}
	return nil
}
