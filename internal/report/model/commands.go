package model

import (
	"strings"

	"tare/internal/study"
	"tare/internal/workload"
)

// commandLine prints words so that a shell reads them back.
func commandLine(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		if w != "" && strings.Trim(w, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=:,+@%") == "" {
			quoted[i] = w
		} else {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// commands are what was run for a workload at one level, in order.
func commands(w *study.Workload, level study.Level) []Fact {
	var all []Fact
	add := func(name string, step workload.Step) {
		all = append(all, Fact{name, expand(step, w, level), true})
	}
	for _, s := range w.Pack.Setup {
		add("setup", s)
	}
	for _, server := range w.Pack.Servers {
		add("server", server.Step)
	}
	if w.Pack.Warmup != nil {
		add("warm-up", *w.Pack.Warmup)
	}
	if w.Pack.Driver != nil {
		add("driver", *w.Pack.Driver)
	}
	if l := w.Pack.Length; l != nil && l.Driver != nil {
		add("driver by "+l.Amount, *l.Driver)
	}
	for _, s := range w.Pack.Teardown {
		add("teardown", s)
	}
	if len(all) == 0 && w.Pack.Parser.Name != "" && w.Pack.Driver == nil && !w.Pack.Startup {
		return []Fact{{"imported", "unknown: only the output was imported", false}}
	}
	if len(all) == 0 {
		all = append(all, Fact{"driver", "none: the start of the instance is what is measured", false})
	}
	return all
}

// expand puts the parameters' values into a step's command line.
func expand(step workload.Step, w *study.Workload, level study.Level) string {
	text := step.Run
	if text == "" {
		text = commandLine(step.Argv)
	}
	var pairs []string
	for name, p := range w.Pack.Parameters {
		if l := w.Pack.Length; l != nil && name == l.Amount && w.Pack.Amount(level.Parameters) == 0 {
			continue // found in each environment, or not used
		}
		value, set := level.Parameters[name]
		if !set {
			value = p.Default
		}
		pairs = append(pairs, "${"+name+"}", value)
	}
	return strings.TrimSpace(strings.NewReplacer(pairs...).Replace(text))
}

// Commands are what was run for a workload at one level, in order, and what was
// run instead in environments with parameters of their own.
func (v *Report) Commands(w Workload, l Level) []Fact {
	usual := commands(&w.Workload, l.Level)
	all := usual
	for _, e := range v.Environments {
		own := l.Level
		own.Parameters = e.Parameters(w.Name, own)
		for i, command := range commands(&w.Workload, own) {
			if command != usual[i] {
				command.Name += " in " + e.Shown
				all = append(all, command)
			}
		}
	}
	return all
}
