package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tare/internal/metrics"
	"tare/internal/rundir"
	"tare/internal/testing/freeport"
	"tare/internal/testing/prometheustest"
)

// A real Prometheus follows a real run; the run is ended by a signal, and with
// it the listener. What Prometheus saw and what is told of the run afterwards
// is the same.
func TestPrometheusFollowsARunThatIsUnderWayAndTakesItUpWhenItHasEnded(t *testing.T) {
	prometheustest.Needs(t)
	h := aHome(t)
	directory := filepath.Join(filepath.Dir(h.directory), "watched")
	address := fmt.Sprintf("127.0.0.1:%d", freeport.New(t))
	p := h.tare(t, "run", "live.yaml", "--quiet", "--listen", address, "--out", directory)
	s := prometheustest.Scrape(t, address)

	at := func(expression string, least float64) {
		t.Helper()
		s.Until(t, expression, func(found []float64) bool { return len(found) == 1 && found[0] >= least })
	}
	at(`tare_run_info{study="two of the same",baseline="native"}`, 1)
	at(`tare_run_state{state="running"}`, 1)
	at(`sum(tare_trial_running_info{workload="tiny"})`, 1)
	at(`sum(tare_trials_total{run="watched",status="ok"})`, 6)
	for _, environment := range []string{"native", "again"} {
		of := `{environment="` + environment + `",workload="tiny"}`
		at(`tare_environment_cpu_user_seconds_total`+of+` + tare_environment_cpu_system_seconds_total`+of, 1e-6)
		at(`tare_environment_watched_seconds_total`+of, 1)
		at(`tare_trial_metric{environment="`+environment+`",metric="value",unit="op",better="higher"}`, 100)
		at(`tare_start_duration_seconds_count{environment="`+environment+`"}`, 2)
		at(`max_over_time(tare_environment_processes`+of+`[1m])`, 1)
		at(`tare_sampler_passes_total{environment="`+environment+`"}`, 10)
	}
	at(`tare_contrast_ratio{environment="again",baseline="native",metric="value"}`, .5)
	at(`tare_run_verdicts{verdict="open"}`, 1)
	at(`process_cpu_seconds_total{job="tare"}`, 1e-3)
	for _, f := range metrics.Uses {
		if f.Type != metrics.Counter {
			continue
		}
		if fell := s.Query(t, "resets("+f.Name+"[5m]) > 0", time.Time{}); len(fell) > 0 {
			t.Errorf("%s fell: %v", f.Name, fell)
		}
	}

	if err := p.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	status, _ := p.end()
	if output := p.errs.String(); status != 130 || !strings.Contains(output, "metrics of the run: http://"+address+"/metrics\n") {
		t.Errorf("status %d: %s", status, output)
	}
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("the address answers after the run")
	}
	at(`1 - up{job="tare"}`, 1)
	h.clean(t)

	p = h.tare(t, "report", directory, "--format", "openmetrics")
	if status, output := p.end(); status != 0 || output != filepath.Join(directory, "report.openmetrics")+"\n" {
		t.Fatalf("status %d: %s%s", status, output, p.errs.String())
	}
	storage := filepath.Join(t.TempDir(), "data")
	prometheustest.Promtool(t, "", "tsdb", "create-blocks-from", "openmetrics", filepath.Join(directory, "report.openmetrics"), storage)
	run, err := rundir.Open(directory)
	if err != nil {
		t.Fatal(err)
	}
	past := prometheustest.Serve(t, storage)
	last := run.Trials[len(run.Trials)-1]
	for expression, want := range map[string]float64{
		`sum(tare_trials_total{run="watched"})`:                                    float64(len(run.Trials)),
		`tare_trial_metric{environment="` + last.Environment + `",metric="value"}`: last.Metrics["value"],
		`count(tare_contrast_ratio{metric="value"})`:                               1,
	} {
		if got := past.Query(t, expression, last.Ended); len(got) != 1 || got[0] != want {
			t.Errorf("%s is %v, want %v", expression, got, want)
		}
	}
	// The looks of the samplers are there, some in each trial.
	looks := past.Query(t, `count_over_time(tare_environment_processes{environment="native"}[1h])`, last.Ended)
	if len(looks) != 1 || looks[0] < 1.5*float64(len(run.Trials)) {
		t.Errorf("%v looks in the %d trials of two environments", looks, len(run.Trials))
	}
	used := 0.0
	for _, trial := range run.Trials {
		if trial.Environment == "native" {
			used += trial.Usage.CPU().Value
		}
	}
	got := past.Query(t, `sum(tare_environment_cpu_user_seconds_total{environment="native"}) + sum(tare_environment_cpu_system_seconds_total{environment="native"})`, last.Ended)
	if len(got) != 1 || got[0] < used*.999 || got[0] > used*1.2+.05 {
		t.Errorf("the trials of native used %v s, and the series come to %v", used, got)
	}
}

func TestARunWhoseMetricsNobodyCouldReadIsNotStarted(t *testing.T) {
	h := aHome(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	directory := filepath.Join(filepath.Dir(h.directory), "never")
	for address, want := range map[string]string{
		taken.Addr().String(): "the port is in use",
		"9464":                "must be HOST:PORT, such as 127.0.0.1:9464",
	} {
		for _, args := range [][]string{{"run", "live.yaml"}, {"bench", "--env", "native"}} {
			args = append(args, "--out", directory, "--listen", address)
			if args[0] == "bench" {
				args = append(args, "--", "true")
			}
			p := h.tare(t, args...)
			if status, _ := p.end(); status != 2 || !strings.Contains(p.errs.String(), "--listen") || !strings.Contains(p.errs.String(), want) {
				t.Errorf("%q: status %d: %s", args, status, p.errs.String())
			}
		}
	}
	if _, err := os.Stat(directory); err == nil {
		t.Error("the run was begun all the same")
	}
}

func TestAnOpenAddressIsReportedAsOpen(t *testing.T) {
	h := aHome(t)
	p := h.tare(t, "bench", "--env", "native", "--runs", "1", "--quiet", "--listen", ":0", "--out", filepath.Join(filepath.Dir(h.directory), "open"), "--", "true")
	status, _ := p.end()
	output, port := p.errs.String(), 0
	if _, err := fmt.Sscanf(output, "metrics of the run: http://[::]:%d/metrics", &port); status != 0 || err != nil || port == 0 ||
		!strings.Contains(output, "reachable from other machines, without authentication") {
		t.Errorf("status %d, %v: %s", status, err, output)
	}
}
