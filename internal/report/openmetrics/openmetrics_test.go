package openmetrics

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/metricstest"
	"tare/internal/usage"
)

func metricsRun() model.Input {
	trials := metricstest.Trials()
	return model.Input{Manifest: metricstest.Manifest(), Plan: metricstest.Plan(), Trials: trials, Contrasts: metricstest.Contrasts(trials)}
}

func openMetrics(t *testing.T, in model.Input) string {
	t.Helper()
	var text bytes.Buffer
	if err := Write(&text, in, model.Options{}); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestOpenMetricsHasThePointsOfTheReadings(t *testing.T) {
	in := metricsRun()
	const series = `tare_environment_memory_bytes{environment="native",run="` + metricstest.Name + `",workload="redis"}`
	without := strings.Count(openMetrics(t, in), series)
	in.Readings = func(trial rundir.Trial) ([]rundir.InstanceSeries, error) {
		if trial.Block > 1 || trial.Environment != "native" || trial.Level != "clients=1" {
			return nil, nil
		}
		one := &usage.Series{Began: trial.Started}
		for i := range 21 {
			r := metricstest.Reading(float64(i) / 10)
			one.Add(&r)
		}
		return []rundir.InstanceSeries{{Instance: "native", Series: one}}, nil
	}
	text := openMetrics(t, in)
	if with := strings.Count(text, series); with != without+21-2 {
		t.Errorf("memory has %d points, and %d without samples", with, without)
	}
	if at := series + ` 1.0 1.7952255002e+09`; !strings.Contains(text, at) {
		t.Errorf("there is no %s", at)
	}
}

func TestUnreadableReadingsAreAnError(t *testing.T) {
	in := metricsRun()
	in.Readings = func(rundir.Trial) ([]rundir.InstanceSeries, error) { return nil, errors.New("torn") }
	if err := Write(&bytes.Buffer{}, in, model.Options{}); err == nil || !strings.Contains(err.Error(), "torn") {
		t.Errorf("got %v", err)
	}
}

func TestOpenMetricsDoesNotDependOnWhereTheRunLies(t *testing.T) {
	in := metricsRun()
	here := openMetrics(t, in)
	in.Directory = "elsewhere"
	if openMetrics(t, in) != here {
		t.Error("the text of a copied run differs")
	}
}
