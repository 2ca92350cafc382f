package model_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"tare/internal/environment"
	"tare/internal/papers/published"
	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
)

// A claim that cannot be asked says of which environment a figure is missing, and why: what
// does not work here, and what only ran under emulation, whether it came to a value or not.
func TestAClaimWithoutAFigureSaysWhatWasMissing(t *testing.T) {
	paper, err := published.Parse("paper.yaml", []byte(`
study: paper
source: {title: A paper, kind: paper}
environments: [{id: native, name: Metal, kind: native}, {id: docker, name: Container, kind: docker}]
tables:
  - {id: get, place: Table 1, metric: GET, unit: op/s, better: higher, measures: {workload: redis, metric: get}, cells: {native: 2, docker: 1}}
  - {id: boot, place: Table 3, metric: boot, unit: s, better: lower, measures: {workload: redis, metric: get}, unlike: {docker: another thing}, cells: {native: 2, docker: 1}}
  - {id: none, place: Table 2, metric: sorting, unit: op/s, better: higher, measures: {workload: sort, metric: rate}, cells: {native: 2, docker: 1}}
claims:
  - {id: get, place: section 1, says: GET, check: {order: docker < native, table: get}}
  - {id: boot, place: section 1, says: boot, check: {order: docker < native, table: boot}}
  - {id: sort, place: section 1, says: sorting, check: {order: docker < native, table: none}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		facts rundir.EnvironmentFacts
		want  []string
	}{
		{"one that works", rundir.EnvironmentFacts{State: environment.Usable}, []string{"which has no interval", "boot of Container: another thing", "sorting of Container was not measured"}},
		{"one that does not", rundir.EnvironmentFacts{State: environment.Missing, Findings: []environment.Finding{{State: environment.Usable, What: "root"}, {State: environment.Missing, What: "a daemon"}}},
			[]string{"Container does not work here: it needs a daemon", "boot of Container: another thing", "Container does not work here: it needs a daemon"}},
		{"an emulated one", rundir.EnvironmentFacts{State: environment.Caveat, Label: "tcg"}, []string{"Container ran under software emulation", "boot of Container: another thing", "Container ran under software emulation"}},
	} {
		in := reporttest.Quick()
		facts := maps.Clone(in.Manifest.Environments)
		facts["docker"] = c.facts
		in.Manifest.Environments = facts
		for n, claim := range model.Claims(paper, in) {
			reason := claim.Findings[0].Reason
			if claim.Outcome != published.CannotBeAsked || !strings.Contains(reason, c.want[n]) {
				t.Errorf("%s, %s: %s, %q, want %q", c.name, claim.Says, claim.Outcome, reason, c.want[n])
			}
		}
	}
}

// Where something besides the layer differs, a claim on the layer has no answer.
func TestAClaimOnAComparisonWithAConfoundCannotBeAsked(t *testing.T) {
	in := reporttest.Quick()
	c := &in.Contrasts[slices.IndexFunc(in.Contrasts, func(c verdict.Contrast) bool {
		return c.Environment == "docker" && c.Part == "" && c.Bounded()
	})]
	paper, err := published.Parse("paper.yaml", fmt.Appendf(nil, `
study: paper
source: {title: A paper, kind: paper}
environments: [{id: native, name: Metal, kind: native}, {id: docker, name: Container, kind: docker}]
tables:
  - {id: one, place: Table 1, metric: the figure, unit: op/s, better: higher, measures: {workload: %s, metric: %s, with: %s}, cells: {native: 2, docker: 1}}
claims:
  - {id: one, place: section 1, says: it, check: {order: docker < native, table: one}}
`, c.Workload, c.Metric, parametersOf(in, c)))
	if err != nil {
		t.Fatal(err)
	}
	if claim := model.Claims(paper, in)[0]; claim.Outcome == published.CannotBeAsked {
		t.Fatalf("without a confound: %s, %+v", claim.Outcome, claim.Findings)
	}
	c.Warnings = append(slices.Clone(c.Warnings), verdict.Warning{Code: verdict.Confound, Other: "native", Confounds: []string{"process.priority"}})
	if claim := model.Claims(paper, in)[0]; claim.Outcome != published.CannotBeAsked || !strings.Contains(claim.Findings[0].Reason, "(†)") {
		t.Errorf("%s, %+v", claim.Outcome, claim.Findings)
	}
}

// parametersOf are those of a contrast's level, in YAML's flow style.
func parametersOf(in model.Input, c *verdict.Contrast) string {
	w := in.Plan.Workload(c.Workload)
	level, _ := w.Level(c.Level)
	var all []string
	for name, value := range level.Parameters {
		all = append(all, fmt.Sprintf("%s: %q", name, value))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// Readers come for what was found: a claim of several figures shows those that were measured
// also where others were not, and what cannot be asked stands last.
func TestTheClaimsThatCannotBeAskedStandLastWithWhatWasMeasured(t *testing.T) {
	none := published.Finding{Outcome: published.CannotBeAsked, Reason: "VMs are not in the run"}
	found := published.Finding{Outcome: published.HoldsHere, Found: "-20%", Figures: "Docker 8, Metal 10"}
	a := model.Against{Claims: []published.ClaimResult{
		{Claim: &published.Claim{Says: "both"}, Outcome: published.CannotBeAsked, Findings: []published.Finding{none, found}},
		{Claim: &published.Claim{Says: "one"}, Outcome: published.HoldsHere, Findings: []published.Finding{found}},
	}}
	lines := a.ClaimLines()
	if lines[0].Says != "one" || lines[1].Here != "VMs are not in the run; Docker 8, Metal 10: -20%; of 2 figures 1 cannot be asked here, 1 holds here" {
		t.Errorf("%+v", lines)
	}
}
