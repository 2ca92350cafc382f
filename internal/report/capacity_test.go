package report

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/study"
	"tare/internal/testing/reporttest"
	"tare/internal/usage"
	"tare/internal/usage/cost"
	"tare/internal/verdict"
	"tare/internal/workload"
)

// searched is a run with a capacity of 1000/s and more each block for the baseline, and
// of four fifths of that elsewhere.
func searched() model.Input {
	in := reporttest.Quick()
	w := &in.Plan.Workloads[0]
	w.Find = &study.Find{Objective: "p99 <= 50ms"}
	w.Pack.Metrics = []workload.Metric{{Name: workload.Capacity, Unit: "op/s", Better: "higher", Primary: true}}
	for i := range in.Trials {
		t := &in.Trials[i]
		if t.Workload != w.Name || t.Status != rundir.OK {
			continue
		}
		rate := 1000 + float64(t.Block)
		if t.Environment != in.Plan.Baseline {
			rate *= .8
		}
		t.Rounds, t.Metrics = nil, map[string]float64{workload.Capacity: rate}
	}
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	return in
}

func TestACapacityHasAnIntervalAndAnAnswerInMachines(t *testing.T) {
	in := searched()
	all := verdict.Capacities(in.Plan, in.Trials, in.Contrasts, in.Manifest.Environments)
	others := 0
	for _, c := range all {
		if !c.Bounded() || c.Rate.Low > c.Rate.Estimate || c.Rate.High < c.Rate.Estimate || c.Least < 800 || c.Most > 1100 {
			t.Errorf("the capacity of %s is %+v", c.Environment, c)
		}
		if c.Environment == in.Plan.Baseline {
			if !math.IsNaN(c.Instances.Estimate) {
				t.Errorf("the baseline needs %v instances", c.Instances)
			}
			continue
		}
		others++
		if math.Abs(c.Instances.Estimate-1.25) > 1e-9 || !(c.Instances.Low <= 1.25+1e-9) || !(c.Instances.High >= 1.25-1e-9) {
			t.Errorf("%s needs %v instances", c.Environment, c.Instances)
		}
	}
	if others == 0 {
		t.Fatalf("there are only %+v", all)
	}
	if _, err := json.Marshal(all); err != nil {
		t.Error(err)
	}
	var terminal, markdown, page bytes.Buffer
	for _, err := range []error{writeText(&terminal, in, model.Options{}), writeMarkdown(&markdown, in, model.Options{}), writeHTML(&page, in, model.Options{})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	text := strings.Join(strings.Fields(terminal.String()), " ")
	for _, want := range []string{"startup: p99 <= 50ms", "1.25 [1.25, 1.25] 12"} {
		if !strings.Contains(text, want) {
			t.Errorf("the terminal has no %q:\n%s", want, text)
		}
	}
	if !strings.Contains(markdown.String(), "| 1.25 [1.25, 1.25] | +25.0% [") {
		t.Errorf("markdown:\n%s", markdown.String())
	}
	if !strings.Contains(page.String(), `id="capacity"`) || !strings.Contains(page.String(), "1.25 [1.25, 1.25]") {
		t.Error("the page has no capacities")
	}
}

func TestAFewBlocksGiveARangeOfTheCapacity(t *testing.T) {
	in := searched()
	var few []rundir.Trial
	for _, one := range in.Trials {
		if one.Block <= 2 {
			few = append(few, one)
		}
	}
	in.Trials, in.Contrasts = few, verdict.Contrasts(in.Plan, few, in.Manifest)
	var terminal bytes.Buffer
	if err := writeText(&terminal, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(strings.Fields(terminal.String()), " "); !strings.Contains(text, "range ") || !strings.Contains(text, "/s 1.25 2") {
		t.Errorf("the terminal:\n%s", text)
	}
	data, err := json.Marshal(verdict.Capacities(in.Plan, in.Trials, in.Contrasts, in.Manifest.Environments))
	if err != nil || !strings.Contains(string(data), `"low":null`) {
		t.Errorf("%s, %v", data, err)
	}
}

func TestTheSameTrafficTakesCoresAndMemory(t *testing.T) {
	in := searched()
	loaded := in.Plan.Workloads[0]
	loaded.Name, loaded.Find = loaded.Name+"-at-load", nil
	loaded.Levels = []study.Level{{Name: "load=70%", Load: &study.AtLoad{Share: .7, Workload: in.Plan.Workloads[0].Name}}}
	loaded.Pack.Metrics = []workload.Metric{{Name: "latency_p99", Unit: "us", Better: "lower", Primary: true}, {Name: cost.CPU, Unit: "s/kop", Better: "lower"}}
	for _, one := range in.Trials {
		if one.Workload != in.Plan.Workloads[0].Name || one.Status != rundir.OK {
			continue
		}
		one.Workload, one.Level, one.Rate = loaded.Name, "load=70%", 700
		one.Metrics = map[string]float64{"latency_p99": 900 + float64(one.Block), cost.CPU: .4}
		if one.Environment != in.Plan.Baseline {
			one.Metrics[cost.CPU] = .6
		}
		used := usage.Usage{MemoryMean: usage.Figure{Value: 10 << 20}}
		one.Usage = &used
		in.Trials = append(in.Trials, one)
	}
	in.Plan.Workloads = append(in.Plan.Workloads, loaded)
	in.Contrasts = verdict.Contrasts(in.Plan, in.Trials, in.Manifest)
	if _, err := json.Marshal(verdict.AtLoads(in.Plan, in.Trials, in.Contrasts, in.Manifest.Environments)); err != nil {
		t.Error(err)
	}
	var terminal, markdown, page bytes.Buffer
	for _, err := range []error{writeText(&terminal, in, model.Options{}), writeMarkdown(&markdown, in, model.Options{}), writeHTML(&page, in, model.Options{})} {
		if err != nil {
			t.Fatal(err)
		}
	}
	text := strings.Join(strings.Fields(terminal.String()), " ")
	for _, want := range []string{"0.280 10.0 MiB", "0.420 +50.0% ["} {
		if !strings.Contains(text, want) {
			t.Errorf("the terminal has no %q:\n%s", want, text)
		}
	}
	if !strings.Contains(markdown.String(), "| 0.420 | +50.0% [") {
		t.Errorf("markdown:\n%s", markdown.String())
	}
	if !strings.Contains(page.String(), `id="at-load"`) {
		t.Error("the page does not have it")
	}
}
