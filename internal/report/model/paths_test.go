package model_test

import (
	"testing"

	"tare/internal/report/model"
	"tare/internal/testing/reporttest"
)

func TestEnvironmentsWithTheSamePathsShareARow(t *testing.T) {
	in := reporttest.Quick()
	for i := range in.Trials {
		if in.Trials[i].Paths != nil && in.Trials[i].Environment != "vm" {
			in.Trials[i].Paths = reporttest.Paths("native")
		}
	}
	ways := model.New(in).SharedPaths()
	if len(ways) != 2 || ways[0].Names() != "native; docker; gvisor" || ways[1].Names() != "vm [tcg]" {
		t.Errorf("%+v", ways)
	}
}
