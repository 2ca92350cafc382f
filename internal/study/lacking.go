package study

import (
	"fmt"
	"os"

	"tare/internal/base/bounded"
)

// Lacking lists the files and directories of this machine that the plan names and that
// are not there, or not with the content that they had when it was made: a plan of
// another machine, or of an earlier time.
func (p *Plan) Lacking() (problems []string) {
	file := func(what, from, sum string) {
		switch got, err := bounded.Sum(from); {
		case err != nil:
			problems = append(problems, fmt.Sprintf("%s %s: %v", what, from, bounded.Cause(err)))
		case got != sum:
			problems = append(problems, fmt.Sprintf("%s %s: it has other content (SHA-256 %.12s, and it was %.12s)", what, from, got, sum))
		}
	}
	directory := func(from string) {
		if from == "" {
			return // in memory
		}
		if _, err := os.Stat(from); err != nil {
			problems = append(problems, fmt.Sprintf("mount %s: %v", from, bounded.Cause(err)))
		}
	}
	for _, m := range p.Mounts {
		directory(m.From)
	}
	for _, in := range p.Inputs {
		file("input", in.From, in.SHA256)
	}
	for _, w := range p.Workloads {
		if w.Application == nil {
			continue
		}
		for _, s := range w.Application.Services {
			for _, m := range s.Mounts {
				directory(m.From)
			}
			for _, f := range s.Files {
				if f.From != "" && f.Secret == nil {
					file("config of "+s.Role, f.From, f.SHA256)
				}
			}
		}
	}
	for _, s := range p.Secrets() {
		if _, set := os.LookupEnv(s.Env); s.Env != "" && !set {
			problems = append(problems, fmt.Sprintf("secret %s: the variable %s is not set", s.Name, s.Env))
		}
		if _, err := os.Stat(s.File); s.File != "" && err != nil {
			problems = append(problems, fmt.Sprintf("secret %s: %s: %v", s.Name, s.File, bounded.Cause(err)))
		}
	}
	return problems
}
