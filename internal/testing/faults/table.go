package faults

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
)

var (
	moments = flag.Int("moments", 0, "kill tare at this `number` of random moments; 0 is 10, and 300 with -long")

	long  = flag.Bool("long", false, "inject faults more often, as `make faults` does")
	seed  = flag.Uint64("seed", 0, "the `seed` of random moments; 0 draws one, which is printed")
	table = flag.String("table", "", "write the table of faults to this `file`")
)

// Long says whether the test may take its time.
func Long() bool { return *long }

// row is a line of the table.
type row struct {
	name              string
	times, lost, left int
}

var (
	rows     []*row
	rowsLock sync.Mutex
)

// rowOf is the row of a fault, in the order of the first mention.
func rowOf(name string) *row {
	rowsLock.Lock()
	defer rowsLock.Unlock()
	for _, r := range rows {
		if r.name == name {
			return r
		}
	}
	rows = append(rows, &row{name: name})
	return rows[len(rows)-1]
}

// writeTable writes what the faults did.
func writeTable() error {
	var text strings.Builder
	text.WriteString("| fault | times | finished trials lost | left behind |\n|---|---|---|---|\n")
	for _, r := range rows {
		if r.times > 0 {
			fmt.Fprintf(&text, "| %s | %d | %d | %d |\n", r.name, r.times, r.lost, r.left)
		}
	}
	fmt.Print(text.String())
	if *table == "" {
		return nil
	}
	return os.WriteFile(*table, []byte(text.String()), 0o644)
}
