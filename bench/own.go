package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"tare/internal/base/failing"
	"tare/internal/base/lists"
	"tare/internal/rundir"
	"tare/internal/stats"
)

// ownStudy has trials that do nothing, so that the rest is the overhead of tare.
const ownStudy = `study: overhead of tare
baseline: native
environments: {native: {}, docker: {}}
workloads: [{use: ./nothing.yaml}]
design: {blocks: 25, fresh: block}
`

const nothingPack = `workload: nothing
title: nothing at all
stresses: cpu
driver: {argv: [/bin/true]}
metrics: [{name: wall_seconds, unit: s, better: lower, primary: true}]
`

// measureOwnTime reads from a journal the time that tare spent on each trial, without
// the start of the environment and the workload.
func measureOwnTime(ctx context.Context, s *session) []row {
	directory := failing.Must(os.MkdirTemp(s.home, "own-"))
	defer os.RemoveAll(directory)
	for name, text := range map[string]string{"own.yaml": ownStudy, "nothing.yaml": nothingPack} {
		failing.If(os.WriteFile(filepath.Join(directory, name), []byte(text), 0o644))
	}
	out := filepath.Join(directory, "run")
	s.command(ctx, "run", filepath.Join(directory, "own.yaml"), "--quiet", "--out", out)
	r := failing.Must(rundir.Open(out))
	own := lists.Map(r.Trials, func(t rundir.Trial) float64 { return t.OwnSeconds * 1e3 })
	slices.Sort(own)
	median := stats.Median(own)
	return []row{{"overhead of tare per trial, without the environment's start and the workload", "≤ 30 ms",
		fmt.Sprintf("median %.1f ms, 95%% of %d trials below %.1f ms, maximum %.1f ms", median, len(own), stats.Quantile(own, .95), own[len(own)-1]), verdict(stats.Quantile(own, .95) <= 30)}}
}

// measureShort takes the processor time of commands that start nothing.
func measureShort(ctx context.Context, s *session) []row {
	commands := [][]string{{"version"}, {"ls", "studies"}}
	taken := make([][]float64, len(commands))
	for range 20 {
		for i, args := range commands {
			p := s.command(ctx, args...)
			taken[i] = append(taken[i], (p.UserTime()+p.SystemTime()).Seconds()*1e3)
		}
	}
	return []row{{"processor time of `tare version` and `tare ls studies`", "≤ 50 ms",
		fmt.Sprintf("medians %.0f and %.0f ms of 20", stats.Median(taken[0]), stats.Median(taken[1])), verdict(max(stats.Median(taken[0]), stats.Median(taken[1])) <= 50)}}
}

// command runs tare on the session's home and returns its resource usage.
func (s *session) command(ctx context.Context, args ...string) *os.ProcessState {
	state, _ := s.output(ctx, args...)
	return state
}

// output is command with the standard output.
func (s *session) output(ctx context.Context, args ...string) (*os.ProcessState, []byte) {
	cmd := exec.CommandContext(ctx, s.tare, append([]string{"--home", s.home}, args...)...)
	var out, messages bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &messages
	if err := cmd.Run(); err != nil {
		failing.With("tare %v: %w: %s%s", args, err, out.Bytes(), messages.Bytes())
	}
	return cmd.ProcessState, out.Bytes()
}

// The command that both measure: CPU work of some tenths of a second.
var timed = []string{"sh", "-c", "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done"}

const hyperfineRuns = 15

// measureAgainstHyperfine measures one native command with tare bench and
// hyperfine, alternately.
func measureAgainstHyperfine(ctx context.Context, s *session) []row {
	if _, err := exec.LookPath("hyperfine"); err != nil {
		return []row{{"`tare bench` vs hyperfine", "within 1%; ≤ 1.1 times", "not measured: hyperfine is not installed", "?"}}
	}
	type export struct {
		Results []struct{ Mean, Median float64 }
	}
	read := func(path string) float64 {
		var e export
		failing.If(json.Unmarshal(failing.Must(os.ReadFile(path)), &e))
		if len(e.Results) != 1 {
			failing.With("%s has %d results", path, len(e.Results))
		}
		return e.Results[0].Median
	}
	var estimates, totals []float64
	file := filepath.Join(s.home, "export.json")
	defer os.Remove(file)
	sides := []func(){
		func() {
			s.command(ctx, append([]string{"bench", "-q", "--env", "native", "--runs", fmt.Sprint(hyperfineRuns), "--export-json", file, "--"}, timed...)...)
		},
		func() {
			out, err := exec.CommandContext(ctx, "hyperfine", "-N", "--style", "none", "--runs", fmt.Sprint(hyperfineRuns), "--export-json", file, `sh -c "`+timed[2]+`"`).CombinedOutput()
			if err != nil {
				failing.With("hyperfine: %w: %s", err, out)
			}
		},
	}
	for n := range 10 {
		var medians, took [2]float64
		for k := range 2 {
			side := (n + k) % 2
			began := time.Now()
			sides[side]()
			took[side] = time.Since(began).Seconds()
			medians[side] = read(file)
		}
		estimates, totals = append(estimates, math.Log(medians[0]/medians[1])), append(totals, math.Log(took[0]/took[1]))
	}
	e, t := stats.HodgesLehmann(estimates, .05), stats.HodgesLehmann(totals, .05)
	detail := fmt.Sprintf("10 pairs of sessions of %d runs", hyperfineRuns)
	return []row{
		{"`tare bench` of one native command: median vs hyperfine's", "within 1%",
			fmt.Sprintf("%+.2f%% [%+.2f, %+.2f]; %s", 100*math.Expm1(e.Estimate), 100*math.Expm1(e.Low), 100*math.Expm1(e.High), detail), verdict(math.Abs(math.Expm1(e.Estimate)) <= .01)},
		{"`tare bench` vs hyperfine: total time for the same number of runs", "≤ 1.1 times",
			fmt.Sprintf("%.3f [%.3f, %.3f]", math.Exp(t.Estimate), math.Exp(t.Low), math.Exp(t.High)), verdict(math.Exp(t.Estimate) <= 1.1)},
	}
}

func peakMiB(p *os.ProcessState) float64 {
	return float64(p.SysUsage().(*syscall.Rusage).Maxrss) / 1024
}
