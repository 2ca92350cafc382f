package main

import (
	"bytes"
	"os"
	"testing"

	"tare/internal/testing/needs"
)

func TestTheNamesAreThoseOfTheLibrary(t *testing.T) {
	for _, architecture := range []string{"amd64", "arm64"} {
		want, err := table(architecture)
		needs.Working(t, "the source of golang.org/x/sys", err)
		if got, err := os.ReadFile("../names_" + architecture + ".go"); err != nil || !bytes.Equal(got, want) {
			t.Errorf("names_%s.go is old (%v): run go generate in internal/usage/evidence/probe", architecture, err)
		}
	}
}
