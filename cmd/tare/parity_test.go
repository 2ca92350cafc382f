package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tare/internal/parity"
	"tare/internal/testing/needs"
)

// A published study's two sides, configured as its appendices print: what differs
// besides the container has to come out by name.
func TestAPublishedStudysConfigurationsAreFoundUnfair(t *testing.T) {
	needs.Minutes(t, "makes images with the study's servers")
	needsInstances(t)
	h, err := newHome(filepath.Join(t.TempDir(), "home"))
	if err != nil {
		t.Fatal(err)
	}
	for study, want := range map[string]map[string]string{
		"heino-2025-nginx": {"log path": "log.driver", "overlay": "path[/var/log/nginx/access.log].filesystem", "configuration": "configuration[server/nginx.conf][user]"},
		"heino-2025-mysql": {"data directory's file system": "path[/var/lib/mysql].mount", "configuration": "configuration[database/my.cnf][mysqld.user]", "log path": "log.driver"},
	} {
		t.Run(study, func(t *testing.T) {
			p := h.tare(t, "parity", study, "--scale", "small", "--json")
			status, text := p.end()
			if strings.Contains(p.errs.String(), "skipped: docker needs") {
				t.Skip("needs Docker: " + p.errs.String())
			}
			var found struct{ Comparisons []parity.Comparison }
			if err := json.Unmarshal([]byte(text), &found); err != nil || status != 0 || len(found.Comparisons) != 1 {
				t.Fatalf("status %d, %v\n%s", status, err, p.errs.String())
			}
			confounds := found.Comparisons[0].Confounds()
			for name, fact := range want {
				i := slices.IndexFunc(confounds, func(f parity.Finding) bool { return f.Finding == name })
				if i < 0 {
					t.Errorf("%s is not among the confounds", name)
					continue
				}
				if !slices.ContainsFunc(confounds[i].Differences, func(d parity.Difference) bool { return d.Fact == fact }) {
					t.Errorf("%s does not tell %s: %v", name, fact, confounds[i].Differences)
				}
			}
			for _, f := range confounds {
				if f.Finding == parity.NoRule {
					t.Errorf("no rule knows %v", f.Differences)
				}
				if f.Effect == "" || f.Remove == "" {
					t.Errorf("%s: effect %q, remove %q", f.Finding, f.Effect, f.Remove)
				}
			}
		})
	}
	out := filepath.Join(t.TempDir(), "run")
	p := h.tare(t, "run", "heino-2025-nginx", "--scale", "small", "--strict", "--quiet", "--out", out)
	if status, text := p.end(); status != 4 && !strings.Contains(text+p.errs.String(), "Docker") {
		t.Errorf("a strict run ended with status %d\n%s", status, p.errs.String())
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a strict run began in spite of what it found")
	}
	h.clean(t)
}
