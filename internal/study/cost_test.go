package study

import (
	"encoding/json"
	"strings"
	"testing"

	"tare/internal/usage/cost"
	"tare/internal/workload"
)

func costsOf(p workload.Pack) (costs []string) {
	for _, m := range p.Metrics {
		if cost.Named(m.Name) {
			costs = append(costs, strings.Join([]string{m.Name, m.Unit, m.Better}, " "))
		}
	}
	return costs
}

func TestAPriceGivesMoneyInItsCurrency(t *testing.T) {
	plan, err := resolveText(t, `study: x
environments: {native: {}}
workloads: [{use: redis}, {use: startup}]
price: {currency: EUR, cpu_hour: 0.03, memory_gib_hour: 0.004}
`, Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	costs := costsOf(plan.Workloads[0].Pack)
	check(t, "the last cost", costs[len(costs)-1], "money_per_kop EUR/kop lower")
	check(t, "of what counts no operations", len(costsOf(plan.Workloads[1].Pack)), 0)
	text, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	var again Plan
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	check(t, "the price, read back", again.Price, &cost.Price{Currency: "EUR", CPUHour: .03, MemoryGiBHour: .004})
	check(t, "the costs, read back", costsOf(again.Workloads[0].Pack), costs)
}

func TestAnInvalidPriceIsAnError(t *testing.T) {
	for price, want := range map[string]string{
		"{currency: EUR}":                        "study.yaml:4:8: price: set at least one of cpu_hour",
		"{cpu_hour: 1}":                          "study.yaml:4:8: currency: must be a word",
		`{currency: "1 EUR", cpu_hour: 1}`:       "study.yaml:4:19: currency: must be a word such as EUR",
		"{currency: EUR, written_gib: -1}":       "study.yaml:4:37: written_gib: must not be negative",
		"{currency: EUR, cpu_hours: 1}":          `unknown key "cpu_hours"; did you mean "cpu_hour"?`,
		"{currency: EUR, energy_kwh: \"cheap\"}": "energy_kwh",
	} {
		_, err := resolveText(t, "study: x\nenvironments: {native: {}}\nworkloads: [{use: redis}]\nprice: "+price+"\n", Overrides{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", price, err, want)
		}
	}
}

// A plan of an earlier tare knows the processor time of one operation alone.
func TestAnEarlierPlanGetsAllCosts(t *testing.T) {
	var plan Plan
	text := `{"workloads": [{"name": "redis", "pack": {"workload": "redis", "operations": "requests", "metrics": [
		{"name": "requests", "unit": "op", "better": "higher"}, {"name": "cpu_per_op", "unit": "s/op", "better": "lower"}]}}]}`
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		t.Fatal(err)
	}
	check(t, "the costs", costsOf(plan.Workloads[0].Pack), []string{"cpu_per_kop s/kop lower", "memory_per_kop B·s/kop lower",
		"written_per_kop B/kop lower", "switches_per_kop 1/kop lower", "energy_per_kop J/kop lower"})
}
