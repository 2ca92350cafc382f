package model_test

import (
	"encoding/json"
	"strings"
	"testing"

	"tare/internal/papers/score"
	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

// The score of a ladder is that of its end, which a part of it has not.
func TestTheScoreOfALadderIsThatOfItsEnd(t *testing.T) {
	p, err := score.Load("p", "p.yaml", []byte("profile: p\nfeatures:\n  - {name: rate, workload: nginx, metric: requests_per_second, at_least: [50%, 70%, 90%, 95%]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	in := reporttest.Ladder()
	sheet := model.Score(in, p)
	end := in.Plan.Environments[len(in.Plan.Environments)-1].Name
	if len(sheet.Environments) != 1 || sheet.Environments[0] != end {
		t.Fatalf("%+v", sheet.Environments)
	}
	if text, _ := json.Marshal(sheet); !strings.Contains(string(text), "0.73") || strings.Contains(string(text), "0.96") {
		t.Errorf("%s", text)
	}
}
