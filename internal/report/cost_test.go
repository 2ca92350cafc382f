package report

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/study"
	"tare/internal/testing/reporttest"
	"tare/internal/usage/cost"
	"tare/internal/verdict"
	"tare/internal/workload"
)

func TestMoneyIsScaledToReadableAmountsInEveryFormat(t *testing.T) {
	in := reporttest.Quick()
	plan := *in.Plan
	plan.Price = &cost.Price{Currency: "EUR", CPUHour: .03}
	plan.Workloads = slices.Clone(plan.Workloads)
	w := &plan.Workloads[slices.IndexFunc(plan.Workloads, func(w study.Workload) bool { return w.Name == "nginx" })]
	w.Pack.Metrics = append(slices.Clone(w.Pack.Metrics), workload.Metric{Name: "money_per_kop", Unit: "EUR/kop", Better: "lower"})
	in.Plan, in.Trials = &plan, slices.Clone(in.Trials)
	for i := range in.Trials {
		if t := &in.Trials[i]; t.Workload == "nginx" && t.Metrics != nil {
			t.Metrics = maps.Clone(t.Metrics)
			t.Metrics["money_per_kop"] = 2.67e-7
		}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	var document, text, all bytes.Buffer
	for _, err := range []error{writeMarkdown(&document, in, model.Options{}), writeText(&text, in, model.Options{Width: 100}), writeText(&all, in, model.Options{Width: 100, All: true})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for where, text := range map[string]string{"page": htmlOf(t, in), "document": document.String(), "tables": text.String(), "all tables": all.String()} {
		if want := "0.267 EUR per billion"; !strings.Contains(strings.ReplaceAll(text, "\u00a0", " "), want) {
			t.Errorf("the %s do not say %s", where, want)
		}
		if strings.Contains(text, "e-07 ") {
			t.Errorf("the %s count in powers of ten", where)
		}
	}
}
