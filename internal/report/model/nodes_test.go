package model

import (
	"fmt"
	"slices"
	"testing"

	"tare/internal/verdict"
)

func TestOfManyNodesThoseAtTheEndsAndThoseThatDifferHaveALine(t *testing.T) {
	n := &verdict.Nodes{}
	for k := range 40 {
		one := verdict.Node{Name: fmt.Sprintf("%02d", k), N: 4, Differs: k == 20}
		one.Interval.Estimate = float64(k) / 1000
		n.Each = append(n.Each, one)
	}
	var names []string
	for _, one := range Notable(n) {
		names = append(names, one.Name)
	}
	if want := []string{"00", "01", "02", "20", "37", "38", "39"}; !slices.Equal(names, want) {
		t.Fatal(names)
	}
}
