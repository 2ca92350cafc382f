// Package dashboard makes the Grafana dashboards of tare's metrics, from the
// same lists as the metrics themselves: one for the run that is under way, one
// for runs that have ended. The files in monitoring/ are what it makes.
//
// It must not know where metrics come from, nor whether there is a Grafana.
package dashboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"tare/internal/metrics"
	"tare/internal/sample"
)

// Files are the dashboards by the names of their files.
func Files() map[string]Dashboard {
	return map[string]Dashboard{"tare-live.json": Live(), "tare-runs.json": Runs()}
}

// Live is the dashboard of the run that is under way.
func Live() Dashboard {
	b := &board{live: true}
	b.progress()
	b.contrasts()
	b.trials()
	b.use()
	b.around()
	b.machine()
	return b.page("tare-live", "tare: the run under way", "What tare run --listen serves: progress, verdicts, and what each environment uses.", "5s", span{"now-15m", "now"})
}

// Runs is the dashboard of runs that have ended.
func Runs() Dashboard {
	b := &board{}
	b.contrasts()
	b.trials()
	b.use()
	b.around()
	return b.page("tare-runs", "tare: finished runs", "What tare report --format openmetrics writes, taken up by promtool tsdb create-blocks-from openmetrics. Choose a time range with the run in it.", "", span{"now-24h", "now"})
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

// byRun is what the variable at the top of a dashboard chooses by.
const byRun = `run="$run"`

// selects is a family's selector by what the user chose, as far as it has the
// labels.
func selects(f *metrics.Family, more ...string) string {
	chosen := []string{byRun}
	for _, label := range f.Labels {
		if label == "environment" || label == "workload" {
			chosen = append(chosen, fmt.Sprintf(`%s=~"$%s"`, label, label))
		}
	}
	return f.Name + "{" + strings.Join(append(chosen, more...), ",") + "}"
}

// now is a selector's last value: of a run that has ended, the last one in the
// time range.
func (b *board) now(selector string) string {
	if b.live {
		return selector
	}
	return "last_over_time(" + selector + "[$__range])"
}

func (b *board) progress() {
	b.row("The run")
	b.stat("Doing", 4, "", "{{state}}", selects(metrics.State)+" == 1", "name")
	b.stat("Block", 4, "", "under way", selects(metrics.BlockNow), "value")
	b.stat("Verdicts in", 4, "", "in", "sum("+selects(metrics.Verdicts, `verdict!="open"`)+")", "value")
	b.stat("Verdicts open", 4, "", "open", selects(metrics.Verdicts, `verdict="open"`), "value")
	b.stat("Time spent", 4, "s", "elapsed", selects(metrics.Elapsed), "value")
	b.stat("Ends at the latest", 4, "dateTimeFromNow", "end", selects(metrics.End)+" * 1000", "value")
	b.table("The trial under way", 12, []string{"max by (environment, workload, level, block) (" + selects(metrics.Trying) + ")"},
		map[string]bool{"Time": true, "Value": true}, nil)
	b.graph("Trials that ended", 12, "", "{{status}}", "sum by (status) ("+selects(metrics.Trials)+")")
}

func (b *board) contrasts() {
	b.row("Contrasts on primary metrics")
	by := "max by (environment, workload, level, metric, part) ("
	primary := func(f *metrics.Family) string { return b.now(selects(f, `primary="true"`)) }
	b.table("Against the baseline", 24, []string{
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
	b.graph("Metrics", 12, "", "{{workload}} {{level}} {{metric}} ({{unit}}) {{environment}}", selects(metrics.Metric, `metric=~"$metric"`))
	b.graph("Starts", 6, "s", "{{environment}}", selects(metrics.LastStart))
	b.graph("Waiting for a resource", 6, "percentunit", "{{resource}}", selects(metrics.Pressure))
	if b.live {
		b.graph("Median start", 12, "s", "{{environment}}",
			"histogram_quantile(0.5, sum by (environment, le) ("+metrics.Starts.Name+`_bucket{run="$run",environment=~"$environment"}))`)
	}
	b.graph("How fast the machine is: a loop of equal work before each block", 12, "s", "loop", selects(metrics.Canary))
}

// use has one panel for every quantity that is watched.
func (b *board) use() {
	b.row("Resource use by environment, while it is watched")
	watched := "sum by (environment) (rate(" + selects(metrics.Watched) + "[$__rate_interval]))"
	for i, q := range sample.Quantities {
		f := metrics.Uses[i]
		title := strings.ToUpper(q.About[:1]) + q.About[1:]
		if q.Kind == sample.Gauge {
			b.graph(title, 8, units[q.Unit].held, "{{environment}}", "sum by (environment) ("+selects(f)+")")
			continue
		}
		b.graph(title, 8, units[q.Unit].rate, "{{environment}}",
			"sum by (environment) (rate("+selects(f)+"[$__rate_interval])) / "+watched)
	}
}

// units are Grafana's, of what is held and of a rate. Seconds a second are a
// share: processors in use, or of the time waited.
var units = map[string]struct{ held, rate string }{
	"s": {"s", "none"}, "B": {"bytes", "Bps"}, "1": {"short", "cps"},
}

// around has what is known when trials end.
func (b *board) around() {
	b.row("Who used the processor, and what the watching cost")
	watched := "sum by (environment) (" + b.now(selects(metrics.Watched)) + ")"
	b.graph("Processors in use by part of the environment, over the run so far", 12, "none", "{{environment}} {{role}} {{process}}",
		"sum by (environment, role, process) ("+selects(metrics.PartCPU)+") / on (environment) group_left () sum by (environment) ("+selects(metrics.Watched)+")")
	b.graph("Processors in use on the machine by who is charged, over the run so far", 12, "none", "{{environment}} {{charged}}",
		"sum by (environment, charged) ("+selects(metrics.HostCPU)+") / on (environment) group_left () sum by (environment) ("+selects(metrics.Watched)+")")
	b.stat("The sampler's share of a processor", 8, "percentunit", "{{environment}}",
		"sum by (environment) ("+b.now(selects(metrics.SamplerCPU))+") / "+watched, "value_and_name")
	b.stat("A pass of the sampler", 8, "s", "{{environment}}",
		b.now(selects(metrics.SamplerTime))+" / "+b.now(selects(metrics.SamplerPasses)), "value_and_name")
	b.stat("Energy", 8, "joule", "{{environment}}", b.now(selects(metrics.Energy)), "value_and_name")
}

func (b *board) machine() {
	b.row("The machine, and tare itself")
	b.graph("Time in which something waited", 8, "percentunit", "{{resource}}", "rate("+selects(metrics.Stall)+"[$__rate_interval])")
	b.graph("tare's own processor time", 8, "none", "tare", "rate(process_cpu_seconds_total{"+ofProcess+"}[$__rate_interval])")
	b.graph("tare's own memory", 8, "bytes", "resident", "process_resident_memory_bytes{"+ofProcess+"}")
}

// ofProcess chooses the process that serves the run: its own metrics know no
// run.
const ofProcess = `job="tare"`
