package study

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"tare/internal/application/secret"
)

// resolveSecret reads secret:, where values come from that the study does not have. A
// path is relative to the study; the plan has it absolute, as a run may be resumed from
// anywhere.
func resolveSecret(s section, directory string) (sources []secret.Source) {
	if !s.Exists() || s.IsNull() {
		return nil
	}
	for _, p := range s.Pairs() {
		source := secret.Source{Name: p.Key}
		if !p.Value.IsMapping() {
			p.Value.Problemf("secret %s: write where its value is, {file: PATH} or {env: VARIABLE}, not the value", p.Key)
			continue
		}
		p.Value.Decode(&source)
		if err := source.Validate(); err != nil {
			key, _, _ := strings.Cut(err.Error(), ":")
			if at, given := p.Value.Get(key); given {
				at.Problemf("%s", err)
			} else {
				p.Value.ProblemAtKey("%s", err)
			}
			continue
		}
		if source.File != "" {
			if !filepath.IsAbs(source.File) {
				source.File = filepath.Join(directory, source.File)
			}
			if path, err := filepath.Abs(source.File); err == nil {
				source.File = path
			}
		}
		sources = append(sources, source)
	}
	slices.SortFunc(sources, func(a, b secret.Source) int { return cmp.Compare(a.Name, b.Name) })
	return sources
}
