package table

import (
	"encoding/xml"
	"fmt"
	"strconv"
	"strings"
)

// phoronix reads a composite.xml of the Phoronix Test Suite: each run of each test on each
// system.
func phoronix(name string, data []byte) (*table, error) {
	var report struct {
		XMLName xml.Name
		Results []struct {
			Title       string `xml:"Title"`
			Description string `xml:"Description"`
			Arguments   string `xml:"Arguments"`
			Scale       string `xml:"Scale"`
			Proportion  string `xml:"Proportion"`
			Display     string `xml:"DisplayFormat"`
			Entries     []struct {
				Identifier string `xml:"Identifier"`
				Value      string `xml:"Value"`
				Raw        string `xml:"RawString"`
			} `xml:"Data>Entry"`
		} `xml:"Result"`
	}
	if err := xml.Unmarshal(data, &report); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if report.XMLName.Local != "PhoronixTestSuite" {
		return nil, fmt.Errorf("%s: it is XML with <%s>, and none of the Phoronix Test Suite (composite.xml)", name, report.XMLName.Local)
	}
	t := &table{name: name, made: true, columns: []string{"system", "test", "run", metric, value, better},
		roles: map[string]string{environment: "system", work: "test", metric: metric, better: better}}
	for _, r := range report.Results {
		test := strings.TrimSuffix(r.Title+", "+r.Description, ", ")
		if r.Display != "BAR_GRAPH" && r.Display != "HORIZONTAL_BOX_PLOT" && r.Display != "" {
			t.remarks = append(t.remarks, fmt.Sprintf("%s: %s is a %s and not read", name, test, r.Display))
			continue
		}
		if strings.HasPrefix(r.Arguments, "test install ") { // how long and large it was, of no run
			t.remarks = append(t.remarks, fmt.Sprintf("%s: %s is of the installation and not read", name, test))
			continue
		}
		direction := map[string]string{"HIB": "higher", "LIB": "lower"}[r.Proportion]
		for _, e := range r.Entries {
			runs := strings.Split(e.Raw, ":")
			if e.Raw == "" {
				runs = []string{e.Value}
			}
			for i, v := range runs {
				if v = strings.TrimSpace(v); v == "" {
					t.remarks = append(t.remarks, fmt.Sprintf("%s: %s has no result of %s", name, test, e.Identifier))
					continue
				}
				t.addRow(e.Identifier, test, strconv.Itoa(i+1), r.Scale, v, direction)
			}
		}
	}
	return t, nil
}
