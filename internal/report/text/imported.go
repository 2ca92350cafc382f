package text

import (
	"fmt"

	"tare/internal/report/model"
)

func (t *terminal) imported(v *model.Report) {
	if facts := v.Imported(); len(facts) > 0 {
		fmt.Fprintf(t, "\n%s\n", t.paint(bold, "Imported results"))
		for _, f := range facts {
			t.wrap(2, f.Name+": "+f.Text)
		}
	}
	if len(v.Findings) > 0 {
		fmt.Fprintf(t, "\n%s\n", t.paint(bold, "Anomalies in the data"))
		for _, f := range v.Findings {
			t.wrap(2, f.String())
		}
	}
}
