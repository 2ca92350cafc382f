package report

import (
	"errors"
	"testing"

	"tare/internal/testing/reporttest"
)

func TestTheOtherReportsAreWrittenIfOneCannotBe(t *testing.T) {
	var names []string
	err := WriteFiles(reporttest.Quick(), func(name string, _ []byte) error {
		names = append(names, name)
		if len(names) == 1 {
			return errors.New("no space")
		}
		return nil
	})
	if err == nil || err.Error() != "no space" || len(names) < 2 {
		t.Errorf("%v, %q", err, names)
	}
}
