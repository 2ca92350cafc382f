package usage

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"tare/internal/linux/procfile"
)

// energy adds up the counters of processor packages (RAPL), which wrap around.
type energy struct {
	packages []*energyPackage
	buffer   []byte
	at       time.Time
	missing  string
}

type energyPackage struct {
	file       *procfile.File
	max        float64 // at which the counter wraps, in µJ
	last, used float64
}

// energyInterval is short enough that no counter wraps twice: a package of 500 W
// takes two minutes for the smallest range that exists.
const energyInterval = 10 * time.Second

func openEnergy(sys string) *energy {
	e := &energy{missing: "the machine has no readable energy counters (/sys/class/powercap/intel-rapl:*)"}
	for n := range 64 {
		zone := filepath.Join(sys, "class", "powercap", "intel-rapl:"+strconv.Itoa(n))
		label, err := os.ReadFile(filepath.Join(zone, "name"))
		if err != nil {
			break
		}
		// psys is the whole platform, which includes the packages.
		if !strings.HasPrefix(string(label), "package") {
			continue
		}
		p := &energyPackage{file: procfile.At(filepath.Join(zone, "energy_uj"))}
		now, err := p.file.Number(&e.buffer)
		if err != nil {
			e.missing = "reading the energy counters: " + err.Error()
			return e
		}
		p.last = float64(now)
		limit, _ := procfile.At(filepath.Join(zone, "max_energy_range_uj")).Number(&e.buffer)
		p.max = float64(limit)
		e.packages = append(e.packages, p)
	}
	if len(e.packages) > 0 {
		e.missing = ""
	}
	return e
}

func (e *energy) poll(at time.Time) {
	if at.Sub(e.at) >= energyInterval {
		e.at = at
		e.read()
	}
}

func (e *energy) read() {
	for _, p := range e.packages {
		n, err := p.file.Number(&e.buffer)
		if err != nil {
			e.missing = "reading the energy counters: " + err.Error()
			return
		}
		now := float64(n)
		if p.used += now - p.last; now < p.last {
			p.used += p.max
		}
		p.last = now
	}
}

// total reads the energy since openEnergy, in J.
func (e *energy) total() Figure {
	e.read()
	sum := 0.
	for _, p := range e.packages {
		sum += p.used / 1e6
	}
	return Figure{sum, e.missing}
}

func (e *energy) close() {
	for _, p := range e.packages {
		p.file.Close()
	}
}
