package text

import (
	"tare/internal/report/model"
)

func (t *terminal) imported(v *model.Report) {
	if facts := v.Imported(); len(facts) > 0 {
		t.heading("Imported results")
		for _, f := range facts {
			t.wrap(2, f.Name+": "+f.Text)
		}
	}
	if len(v.Findings) > 0 {
		t.heading("Anomalies in the data")
		for _, f := range v.Findings {
			t.wrap(2, f.String())
		}
	}
}
