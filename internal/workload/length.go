package workload

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"tare/internal/base/strictyaml"
	"tare/internal/workload/parse"
)

// Length says how long a sample is, which is one run of the driver, and with
// which parameters a study sets that.
type Length struct {
	// Time is the parameter with the length, in s or ms. Its default applies to
	// trials of one sample.
	Time string `yaml:"time" json:"time"`
	// Sample is the default length of each of several samples of a trial.
	Sample time.Duration `yaml:"sample" json:"sample"`
	// Amount is the parameter that scales the work of the driver, for lengths that
	// the driver cannot keep itself. Its default is 0: the amount is found by
	// running the driver.
	Amount string `yaml:"amount" json:"amount,omitempty"`
	// Start is the first amount that is tried; 0 is 1.
	Start int64 `yaml:"start" json:"start,omitempty"`
	// Driver and Parser, a built-in one, replace the pack's where the amount is not 0.
	Driver *Step  `yaml:"driver" json:"driver,omitempty"`
	Parser string `yaml:"parser" json:"parser,omitempty"`
}

// timeUnits are the units of a parameter with a length.
var timeUnits = map[string]time.Duration{"s": time.Second, "ms": time.Millisecond}

// WithSample returns the parameters for samples of a length; 0 is the length that
// they contain. find is the length for which the amount is still to be found: 0
// where the driver keeps the length itself, or the parameters have an amount.
func (p Pack) WithSample(parameters map[string]string, sample time.Duration) (with map[string]string, find time.Duration, err error) {
	l := p.Length
	if l == nil || p.Amount(parameters) > 0 {
		return parameters, 0, nil
	}
	spec := p.Parameters[l.Time]
	unit := timeUnits[spec.Unit]
	if sample == 0 {
		sample = p.SampleLength(parameters)
	}
	text := formatNumber(float64(sample) / float64(unit))
	err = spec.Check(text)
	switch {
	case err == nil && slices.Contains(p.Driver.References(), l.Time):
		with = maps.Clone(parameters)
		if with == nil {
			with = map[string]string{}
		}
		with[l.Time] = text
		return with, 0, nil
	case l.Amount == "":
		return nil, 0, fmt.Errorf("workload %s: samples of %v: %s: %w", p.Name, sample, l.Time, err)
	}
	return parameters, sample, nil
}

// SampleLength returns the length that the parameters have.
func (p Pack) SampleLength(parameters map[string]string) time.Duration {
	spec := p.Parameters[p.Length.Time]
	number, _ := spec.Number(p.value(parameters, p.Length.Time)) // With checks it
	return time.Duration(number * float64(timeUnits[spec.Unit]))
}

// Amount returns the amount of work that the parameters have; 0 for none.
func (p Pack) Amount(parameters map[string]string) int64 {
	if p.Length == nil || p.Length.Amount == "" {
		return 0
	}
	n, _ := p.Parameters[p.Length.Amount].Number(p.value(parameters, p.Length.Amount)) // With checks it
	return int64(n)
}

func (p Pack) value(parameters map[string]string, name string) string {
	if value, set := parameters[name]; set {
		return value
	}
	return p.Parameters[name].Default
}

// Amounts returns the first amount that is tried, and the largest one.
func (p Pack) Amounts() (start, most int64) {
	most = 1e17
	if limit := p.Parameters[p.Length.Amount].Max; limit != nil {
		most = int64(*limit)
	}
	return min(max(p.Length.Start, 1), most), most
}

// longestSample bounds the default length of samples in a pack.
const longestSample = time.Hour

func validateLength(p *Pack, root strictyaml.Node) {
	l, at := p.Length, root.At("length")
	if l == nil {
		return
	}
	if p.Driver == nil {
		at.Problemf("length: a pack without a driver has no samples of a chosen length")
		return
	}
	known := slices.Sorted(maps.Keys(p.Parameters))
	spec, given := p.Parameters[l.Time]
	switch {
	case l.Time == "":
		at.Problemf("length: time: is missing; it names the parameter with the length of the driver")
	case !given:
		at.At("time").Problemf("length: time: %s", strictyaml.Unknown("parameter", l.Time, known))
	case timeUnits[spec.Unit] == 0 || !spec.Numeric():
		at.At("time").Problemf("length: time: parameter %s needs the unit s or ms", l.Time)
	}
	if l.Sample <= 0 || l.Sample > longestSample {
		at.At("sample").Problemf("length: sample: write the length of each of several samples, such as 100ms; at most %v", longestSample)
	}
	if l.Amount == "" {
		if l.Start != 0 || l.Driver != nil || l.Parser != "" {
			at.Problemf("length: start, driver and parser have no effect without amount, the parameter that scales the work")
		}
		if given && !slices.Contains(p.Driver.References(), l.Time) {
			at.Problemf("length: the driver does not use ${%s}; name the parameter that scales its work with amount", l.Time)
		}
		return
	}
	validateAmount(p, at, known)
}

func validateAmount(p *Pack, at strictyaml.Node, known []string) {
	l := p.Length
	spec, given := p.Parameters[l.Amount]
	switch {
	case !given:
		at.At("amount").Problemf("length: amount: %s", strictyaml.Unknown("parameter", l.Amount, known))
		return
	case spec.Default != "0":
		at.At("amount").Problemf("length: amount: parameter %s needs the default 0, which means that tare finds the amount", l.Amount)
	}
	if start, most := l.Start, spec.Max; start < 0 || most != nil && float64(start) > *most {
		at.At("start").Problemf("length: start: %d is out of range%s", start, spec.rangeText())
	}
	if _, ok := p.otherParser(); l.Parser != "" && !ok {
		at.At("parser").Problemf("length: %s", strictyaml.Unknown("parser", l.Parser, parse.Names()))
	}
	driver := p.Driver
	if l.Driver != nil {
		driver = l.Driver
		if driver.Role != p.Driver.Role {
			at.At("driver").Problemf("length: driver: needs the role of the pack's driver, %q", p.Driver.Role)
		}
	}
	if !slices.Contains(driver.References(), l.Amount) {
		at.At("amount").Problemf("length: amount: the driver does not use ${%s}", l.Amount)
	}
	before := *p
	before.Driver = nil
	for _, s := range before.steps() {
		if slices.Contains(s.References(), l.Amount) {
			at.At("amount").Problemf("length: amount: only the driver can use ${%s}, since other steps run before it is known", l.Amount)
			return
		}
	}
}

// otherParser returns the parser of the driver with an amount, if it has its own.
func (p *Pack) otherParser() (parse.Parser, bool) {
	if p.Length == nil {
		return parse.Parser{}, false
	}
	return parse.Lookup(p.Length.Parser)
}
