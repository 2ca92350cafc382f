// Package dashboard generates the Grafana dashboards of tare's metrics, from the
// same families as the metrics: one for a run in progress, one for finished runs.
// The files in monitoring/ are its output.
//
// It must not know where metrics come from, nor whether Grafana is running.
package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"tare/internal/metrics"
	"tare/internal/usage"
)

// Files are the dashboards by the names of their files.
func Files() map[string]Dashboard {
	return map[string]Dashboard{"tare-live.json": Live(), "tare-runs.json": Runs()}
}

// Live is the dashboard of a run in progress.
func Live() Dashboard {
	b := &board{live: true}
	b.progress()
	b.contrasts()
	b.trials()
	b.use()
	b.around()
	b.machine()
	return b.page("tare-live", "tare: the run in progress", "Metrics of tare run --listen: progress, verdicts, and the resource use of each environment.", "5s", span{"now-15m", "now"})
}

// Runs is the dashboard of runs that have ended.
func Runs() Dashboard {
	b := &board{}
	b.contrasts()
	b.trials()
	b.use()
	b.around()
	return b.page("tare-runs", "tare: finished runs", "Output of tare report --format openmetrics, imported by promtool tsdb create-blocks-from openmetrics. Choose a time range that includes the run.", "", span{"now-24h", "now"})
}

// JSON is the file of a dashboard.
func (d Dashboard) JSON() ([]byte, error) {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	err := e.Encode(d)
	return text.Bytes(), err
}

// Queries are the expressions of all panels, by the panel's title.
func (d Dashboard) Queries() map[string][]string {
	all := map[string][]string{}
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			all[p.Title] = append(all[p.Title], t.Expr)
		}
	}
	return all
}

// byRun selects the run that the variable of the dashboard names.
const byRun = `run="$run"`

// selects returns a family's selector by the variables of the dashboard, as far as
// the family has the labels.
func selects(f *metrics.Family, more ...string) string {
	chosen := []string{byRun}
	for _, label := range f.Labels {
		if label == "environment" || label == "workload" {
			chosen = append(chosen, fmt.Sprintf(`%s=~"$%s"`, label, label))
		}
	}
	return f.Name + "{" + strings.Join(append(chosen, more...), ",") + "}"
}

// now returns the last value of a selector; for a finished run, the last one in the
// time range.
func (b *board) now(selector string) string {
	if b.live {
		return selector
	}
	return "last_over_time(" + selector + "[$__range])"
}

func (b *board) progress() {
	b.row("The run")
	b.stat("State", 4, "", "{{state}}", selects(metrics.State)+" == 1", "name")
	b.stat("Block", 4, "", "current", selects(metrics.BlockNow), "value")
	b.stat("Verdicts decided", 4, "", "decided", "sum("+selects(metrics.Verdicts, `verdict!="open"`)+")", "value")
	b.stat("Verdicts open", 4, "", "open", selects(metrics.Verdicts, `verdict="open"`), "value")
	b.stat("Time spent", 4, "s", "elapsed", selects(metrics.Elapsed), "value")
	b.stat("Latest end", 4, "dateTimeFromNow", "end", selects(metrics.End)+" * 1000", "value")
	b.table("Current trial", 12, []string{"max by (node, environment, workload, level, block) (" + selects(metrics.Trying) + ")"},
		map[string]bool{"Time": true, "Value": true}, nil)
	b.graph("Finished trials", 12, "", "{{status}}", "sum by (status) ("+selects(metrics.Trials)+")")
}

func (b *board) contrasts() {
	b.row("Contrasts on primary metrics")
	by := "max by (environment, workload, level, metric, part) ("
	primary := func(f *metrics.Family) string { return b.now(selects(f, `primary="true"`)) }
	b.table("Compared with the baseline", 24, []string{
		by + primary(metrics.Ratio) + ")",
		by + primary(metrics.Low) + ")",
		by + primary(metrics.High) + ")",
		by + primary(metrics.Pairs) + ")",
		"max by (environment, workload, level, metric, part, verdict) (" + primary(metrics.Verdict) + " == 1)",
	}, map[string]bool{"Time": true, "Value #E": true},
		map[string]string{"Value #A": "ratio", "Value #B": "low", "Value #C": "high", "Value #D": "blocks"})
	b.graph("Ratio to the baseline", 24, "", "{{workload}} {{level}} {{metric}} {{environment}}", selects(metrics.Ratio, `primary="true"`))
}

func (b *board) trials() {
	b.row("Trials")
	b.graph("Metrics", 12, "", "{{workload}} {{level}} {{metric}} ({{unit}}) {{environment}} {{node}}", selects(metrics.Metric, `metric=~"$metric"`))
	b.graph("Start time", 6, "s", "{{environment}} {{node}}", selects(metrics.LastStart))
	b.graph("Waiting for a resource", 6, "percentunit", "{{resource}}", selects(metrics.Pressure))
	if b.live {
		b.graph("Median start time", 12, "s", "{{environment}}",
			"histogram_quantile(0.5, sum by (environment, le) ("+metrics.Starts.Name+`_bucket{run="$run",environment=~"$environment"}))`)
	}
	b.graph("Speed of the machine: run time of the calibration loop before each block", 12, "s", "loop", selects(metrics.Canary))
}

// use has one panel for every quantity of resource use, of several nodes the mean.
func (b *board) use() {
	b.row("Resource use by environment, while it is sampled")
	watched := "sum by (environment) (rate(" + selects(metrics.Watched) + "[$__rate_interval]))"
	for i, q := range usage.Quantities {
		f := metrics.Uses[i]
		title := strings.ToUpper(q.About[:1]) + q.About[1:]
		if q.Kind == usage.Gauge {
			b.graph(title, 8, units[q.Unit].held, "{{environment}}", "avg by (environment) (sum by (node, environment) ("+selects(f)+"))")
			continue
		}
		b.graph(title, 8, units[q.Unit].rate, "{{environment}}",
			"sum by (environment) (rate("+selects(f)+"[$__rate_interval])) / "+watched)
	}
}

// units are Grafana's, for gauges and for rates. Seconds per second are a number:
// CPUs in use, or the share of time spent waiting.
var units = map[string]struct{ held, rate string }{
	"s": {"s", "none"}, "B": {"bytes", "Bps"}, "1": {"short", "cps"},
}

// around has the metrics whose values are known when a trial ends.
func (b *board) around() {
	b.row("CPU time by process, and the cost of the sampler")
	watched := "sum by (environment) (" + b.now(selects(metrics.Watched)) + ")"
	b.graph("CPUs in use by process of the environment, mean over the run", 12, "none", "{{environment}} {{role}} {{process}}",
		"sum by (environment, role, process) ("+selects(metrics.PartCPU)+") / on (environment) group_left () sum by (environment) ("+selects(metrics.Watched)+")")
	b.graph("CPUs in use on the machine by what they are charged to, mean over the run", 12, "none", "{{environment}} {{charged}}",
		"sum by (environment, charged) ("+selects(metrics.HostCPU)+") / on (environment) group_left () sum by (environment) ("+selects(metrics.Watched)+")")
	b.stat("CPU use of the sampler", 8, "percentunit", "{{environment}}",
		"sum by (environment) ("+b.now(selects(metrics.SamplerCPU))+") / "+watched, "value_and_name")
	b.stat("Mean duration of a sampler pass", 8, "s", "{{environment}}",
		"sum by (environment) ("+b.now(selects(metrics.SamplerTime))+") / sum by (environment) ("+b.now(selects(metrics.SamplerPasses))+")", "value_and_name")
	b.stat("Energy", 8, "joule", "{{environment}}", "sum by (environment) ("+b.now(selects(metrics.Energy))+")", "value_and_name")
}

func (b *board) machine() {
	b.row("The machine, and tare itself")
	b.graph("Pressure of the machine (PSI, some)", 8, "percentunit", "{{resource}}", "rate("+selects(metrics.Stall)+"[$__rate_interval])")
	b.graph("CPU use of tare", 8, "none", "tare", "rate(process_cpu_seconds_total{"+ofProcess+"}[$__rate_interval])")
	b.graph("Memory of tare", 8, "bytes", "resident", "process_resident_memory_bytes{"+ofProcess+"}")
}

// ofProcess selects the process that serves the metrics: its process metrics have
// no run label.
const ofProcess = `job="tare"`
