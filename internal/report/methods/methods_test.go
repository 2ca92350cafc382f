package methods

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"tare/internal/report/model"
	"tare/internal/rundir"
	"tare/internal/testing/reporttest"
	"tare/internal/verdict"
)

func textOf(t *testing.T, in model.Input) string {
	t.Helper()
	files, err := Text(model.New(in))
	if err != nil {
		t.Fatal(err)
	}
	return string(files[0].Data)
}

func TestTheMethodsStateFactsOfTheRun(t *testing.T) {
	text := textOf(t, reporttest.Quick())
	for _, want := range []string{
		"tare 0.1.0 measured startup (Start of an instance), ", " in docker, gvisor and vm [tcg], compared with native. ",
		"The machine had 2 cores and 24.0 GiB of memory (", "sha256:4f0cbb2c", "The environment podman did not run on this machine.", "software emulation",
		"In 12 blocks, 528 trials were made", "The run was planned for ", "Instances were fresh in each ", "seed 1732153500", "Of 528 trials, 3 failed and 12 skipped", "within a margin of 2% by two one-sided tests (Schuirmann 1987).",
		"doi:10.1214/aoms/1177704172",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func TestTheMethodsSayNothingThatWasNotDone(t *testing.T) {
	few := reporttest.Quick()
	few.Trials = few.Trials[:44]
	few.Contrasts = verdict.Contrasts(few.Plan, few.Trials, few.Manifest)
	fixed := reporttest.Quick()
	fixed.Plan.Design.Blocks.Fixed, fixed.Plan.Design.Blocks.Max = true, 15
	never, sequential := reporttest.Quick(), reporttest.Quick()
	never.Plan.Design.Drop, sequential.Plan.Design.Order = "never", "sequential"
	open := reporttest.Quick()
	open.Plan.Design.Blocks.Open = true
	imported := reporttest.Quick()
	imported.Manifest.Import = &rundir.Import{Machine: "a server"}
	imported.Plan.Design.Order = verdict.OrderUnpaired
	unpaired := reporttest.Quick()
	unpaired.Plan.Design.Order = verdict.OrderUnpaired
	for _, c := range []struct {
		name         string
		in           model.Input
		has, hasNone []string
	}{
		{"quick", reporttest.Quick(), []string{"shares of the error", "Lan", "Holm"}, []string{"e-process", "nodes", "part of the isolation layer", "alternated"}},
		{"few blocks", few, []string{"too few blocks for an interval"}, []string{"Hodges", "Lan", "one-sided"}},
		{"imported", imported, []string{"528 existing results of startup, ", " in native, docker, gvisor and vm [tcg] were analysed with tare 0.1.0; native is the baseline. tare did not observe how they were produced. Where, according to the import: a server. "}, []string{"The machine had", "were made", "planned", "fresh", "sysbench)"}},
		{"fixed", fixed, []string{"The run was planned for 15 blocks. ", "one analysis after the last block", "shared"}, []string{"DeMets"}},
		{"never dropped", never, []string{"The run was planned for "}, []string{"to end earlier"}},
		{"sequential", sequential, []string{"The run was planned for "}, []string{"to end earlier"}},
		{"open", open, []string{"e-process"}, []string{"DeMets", "Wilcoxon"}},
		{"unpaired", unpaired, []string{"not paired", "Mann"}, []string{"equivalent", "DeMets", "in random order"}},
		{"unfair", reporttest.Unfair(), []string{"Besides the isolation layer, docker differed from native in ", ", which can affect at least one of the workloads. "}, nil},
		{"nodes", reporttest.OnNodes("a", "b", "c"), []string{"on 3 nodes", "Paule"}, nil},
		{"ladder", reporttest.Ladder(), []string{"each switch on one more part of the isolation layer"}, []string{"The machine had", "The image was"}},
	} {
		text := textOf(t, c.in)
		for _, want := range c.has {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in\n%s", c.name, want, text)
			}
		}
		for _, no := range c.hasNone {
			if strings.Contains(text, no) {
				t.Errorf("%s: %q in\n%s", c.name, no, text)
			}
		}
	}
}

func TestAFactOfARunIsNoLineOfItsOwn(t *testing.T) {
	in := reporttest.Quick()
	in.Manifest.Machine.CPU, in.Manifest.Machine.Kernel = "a\nforged: yes", "6\nforged: yes"
	if text := textOf(t, in); strings.Contains(text, "\nforged") {
		t.Error(text)
	}
}

type citation struct {
	Version string `yaml:"cff-version"`
	Message string
	Type    string
	Title   string
	Authors []map[string]string
	Tare    string `yaml:"version"`

	References []struct {
		Type, Title, Journal, DOI string
		Year                      int
		Authors                   []map[string]string
	}
}

func TestTheCitationHasWhatItsFormatAsksFor(t *testing.T) {
	files, err := CFF(model.New(reporttest.OnNodes("a", "b")))
	if err != nil {
		t.Fatal(err)
	}
	own, err := os.ReadFile(filepath.Join("..", "..", "..", "CITATION.cff"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{"of a run": files[0].Data, "of tare": own} {
		var c citation
		if err := yaml.Unmarshal(text, &c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.Version != "1.2.0" || c.Message == "" || c.Type != "software" || !strings.HasPrefix(c.Title, "tare: ") || len(c.Authors) != 1 || c.Authors[0]["name"] == "" {
			t.Errorf("%s: %+v", name, c)
		}
		if name == "of tare" {
			continue
		}
		if c.Tare != "0.1.0" || len(c.References) < 6 {
			t.Errorf("%s: %+v", name, c)
		}
		for _, r := range c.References {
			if r.Type != "article" || r.Title == "" || r.Journal == "" || r.Year < 1900 || len(r.Authors) == 0 || r.Authors[0]["family-names"] == "" {
				t.Errorf("%+v", r)
			}
		}
	}
}
