package cost

import (
	"errors"
	"math"
	"regexp"
	"strconv"
	"strings"

	"tare/internal/base/strictyaml"
	"tare/internal/usage"
)

// Price is the price of resource use. Resources with a price of 0 are free.
type Price struct {
	Currency      string  `yaml:"currency" json:"currency"`                         // EUR
	CPUHour       float64 `yaml:"cpu_hour" json:"cpu_hour,omitempty"`               // an hour of one processor's time
	MemoryGiBHour float64 `yaml:"memory_gib_hour" json:"memory_gib_hour,omitempty"` // a GiB held for an hour
	WrittenGiB    float64 `yaml:"written_gib" json:"written_gib,omitempty"`         // a GiB written to storage
	EnergyKWh     float64 `yaml:"energy_kwh" json:"energy_kwh,omitempty"`           // a kilowatt-hour
}

const (
	hour         = 3600.0
	gib          = 1 << 30
	kilowattHour = 3.6e6 // joules
)

// priced is one resource that has a price.
type priced struct {
	key   string
	price float64
	used  func(Spent) usage.Figure
	unit  float64 // of the price, in the unit of the figure
}

func (p *Price) parts() []priced {
	return []priced{
		{"cpu_hour", p.CPUHour, func(s Spent) usage.Figure { return s.Usage.CPU() }, hour},
		{"memory_gib_hour", p.MemoryGiBHour, func(s Spent) usage.Figure { return s.Usage.MemorySeconds }, gib * hour},
		{"written_gib", p.WrittenGiB, func(s Spent) usage.Figure { return s.Usage.DiskWritten }, gib},
		{"energy_kwh", p.EnergyKWh, func(s Spent) usage.Figure { return energy(s.Usage) }, kilowattHour},
	}
}

// of is the price of all resources used. It is known only if the use of every priced
// resource is: a sum that lacks one would look cheap.
func (p *Price) of(s Spent) usage.Figure {
	if p == nil {
		return usage.Absent("the study has no prices")
	}
	total := 0.0
	for _, part := range p.parts() {
		if part.price == 0 {
			continue
		}
		used := part.used(s)
		if used.Missing != "" {
			return usage.Absent("%s has a price but no value: %s", part.key, used.Missing)
		}
		total += part.price * used.Value / part.unit
	}
	return usage.Known(total)
}

var currency = regexp.MustCompile(`^\p{L}{1,12}$|^\p{Sc}$`)

// Validate returns what is wrong, each message with its key.
func (p *Price) Validate() error {
	var wrong []error
	if !currency.MatchString(p.Currency) {
		wrong = append(wrong, strictyaml.AtKey("currency", "must be a word such as EUR, not %q", p.Currency))
	}
	any := false
	for _, part := range p.parts() {
		if part.price < 0 || math.IsInf(part.price, 0) || math.IsNaN(part.price) {
			wrong = append(wrong, strictyaml.AtKey(part.key, "must not be negative"))
		}
		any = any || part.price != 0
	}
	if !any {
		wrong = append(wrong, errors.New("price: set at least one of cpu_hour, memory_gib_hour, written_gib and energy_kwh"))
	}
	return errors.Join(wrong...)
}

// String is the price in words: 0.03 EUR per CPU hour, 0.004 EUR per GiB-hour of
// memory.
func (p *Price) String() string {
	words := map[string]string{"cpu_hour": "per CPU hour", "memory_gib_hour": "per GiB-hour of memory", "written_gib": "per GiB written", "energy_kwh": "per kWh"}
	var parts []string
	for _, part := range p.parts() {
		if part.price != 0 {
			parts = append(parts, strconv.FormatFloat(part.price, 'f', -1, 64)+" "+p.Currency+" "+words[part.key])
		}
	}
	return strings.Join(parts, ", ")
}
