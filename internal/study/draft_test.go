package study

import (
	"slices"
	"strings"
	"testing"

	"tare/internal/application/secret"
	"tare/internal/workload"
)

func TestADraftIsResolvedLikeAStudyFile(t *testing.T) {
	for _, c := range []struct {
		change func(*Draft)
		want   string // of the error; "" for none
	}{
		{func(*Draft) {}, ""},
		{func(d *Draft) { d.Margin = "much" }, `--margin: "much" is not a share`},
		{func(d *Draft) { d.Limits = []Setting{{"cpu", "1"}} }, `--limits: unknown key "cpu"; did you mean "cpus"?`},
		{func(d *Draft) { d.Environments[0].Options = []Setting{{"rootf", "host"}} }, `environment native: unknown key "rootf"`},
		{func(d *Draft) { d.Parameters = []Setting{{"clients", "few"}} }, "clients: "},
		{func(d *Draft) { d.Secret = []secret.Source{{Name: "A-B", Env: "A-B"}} }, `--secret: "A-B" is not a valid name of an environment variable`},
		{func(d *Draft) { d.Use = "redsi" }, `did you mean "redis"?`},
	} {
		d := Draft{Title: "t", Name: "n", Origin: "tare test", Baseline: "native", Use: "redis", Blocks: 7, Margin: "3%", Packages: []string{"gzip"},
			Environments: []DraftEnvironment{{Name: "native", Kind: "native"}}, Limits: []Setting{{"memory", "512MiB"}}, Parameters: []Setting{{"clients", "3"}}, Secret: []secret.Source{{Name: "A", Env: "B"}, {Name: "C", File: "/d"}}}
		c.change(&d)
		plan, err := d.Resolve(Overrides{})
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %s", err, c.want)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		l := plan.Workloads[0].Levels[0]
		if plan.Design.Blocks.Max != 7 || plan.Design.Margin != .03 || plan.Limits.Memory != 512<<20 || l.Parameters["clients"] != "3" || len(plan.Secret) != 2 || plan.Secret[0].Env != "B" || plan.Secret[1].File != "/d" || !slices.Contains(plan.Image.Recipe.Packages, "gzip") {
			t.Errorf("%+v", plan)
		}
	}
}

func TestAnEnvironmentOfACommandLine(t *testing.T) {
	e, err := ParseEnvironment("vm+memory=1GiB")
	if err != nil || e.Kind != "qemu" || e.Name != "vm-memory-1GiB" || !slices.Equal(e.Options, []Setting{{"memory", "1GiB"}}) {
		t.Errorf("%+v %v", e, err)
	}
	for text, name := range map[string]string{
		"docker+network=publish+ports=[16379]":    "docker-network-publish-ports-16379",
		"oci+runtime=runsc+gvisor.directfs=false": "oci-runtime-runsc-gvisor-directfs-false",
	} {
		if e, err := ParseEnvironment(text); err != nil || e.Name != name {
			t.Errorf("%+v %v", e, err)
		}
	}
	if _, err := ParseEnvironment("docker+network"); err == nil {
		t.Error("an option without a value is accepted")
	}
}

func TestADraftUsesAPackOfNoFile(t *testing.T) {
	pack := &workload.Pack{Name: "own", Driver: &workload.Step{Argv: []string{"true"}}, Stresses: "cpu"}
	plan, err := Draft{Title: "t", Name: "n", Baseline: "native", Use: "own", Pack: pack, Environments: []DraftEnvironment{{Name: "native", Kind: "native"}}}.Resolve(Overrides{})
	if err != nil || plan.Workloads[0].Name != "own" {
		t.Errorf("%v %v", plan, err)
	}
}

func TestEnvironmentsOfADraftCanDifferInLimitsAndParameters(t *testing.T) {
	plan, err := Draft{Title: "t", Name: "n", Baseline: "a", Use: "syscalls", Order: Alternating, Parameters: []Setting{{"operations", "100"}}, Limits: []Setting{{"cpus", "1"}},
		Environments: []DraftEnvironment{{Name: "a", Kind: "native"}, {Name: "b", Kind: "native", Limits: []Setting{{"cpus", "0.5"}}, With: []Setting{{"operations", "105"}}}}}.Resolve(Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	a, b, w := plan.Environments[0], plan.Environments[1], plan.Workloads[0]
	if plan.Design.Order != Alternating || a.Limits.CPUs != 1 || b.Limits.CPUs != .5 || a.Parameters(w.Name, w.Levels[0])["operations"] != "100" || b.Parameters(w.Name, w.Levels[0])["operations"] != "105" {
		t.Errorf("%+v", plan)
	}
}
