package parse

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDeclaredParsersGiveTheFiguresOfRecordedOutputs(t *testing.T) {
	for _, name := range Names() {
		text, err := os.ReadFile(filepath.Join("..", "testdata", name, "golden.json"))
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]map[string]float64
		if err := json.Unmarshal(text, &want); err != nil {
			t.Fatal(err)
		}
		p, _ := Lookup(name)
		for sample, figures := range want {
			data, err := os.ReadFile(filepath.Join("..", "testdata", name, sample))
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Parse(data)
			if d := cmp.Diff(figures, got); d != "" || err != nil {
				t.Errorf("%s, %s: %v\n%s", name, sample, err, d)
			}
		}
	}
}
