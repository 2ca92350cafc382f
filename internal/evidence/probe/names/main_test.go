package main

import (
	"bytes"
	"os"
	"testing"
)

func TestTheNamesAreThoseOfTheLibrary(t *testing.T) {
	for _, architecture := range []string{"amd64", "arm64"} {
		want, err := table(architecture)
		if err != nil {
			t.Skip("needs the source of golang.org/x/sys: " + err.Error())
		}
		if got, err := os.ReadFile("../names_" + architecture + ".go"); err != nil || !bytes.Equal(got, want) {
			t.Errorf("names_%s.go is old (%v): run go generate in internal/evidence/probe", architecture, err)
		}
	}
}
